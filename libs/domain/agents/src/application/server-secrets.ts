import { Injectable } from '@nestjs/common';
import { type Issue, MASKED, pointerOf, prefixIssues } from '#platform/kernel';
import { encryptedColumn, SecretBox } from '#platform/secrets';
import { keptSecrets, mapSecrets, mapServers, type McpServerConfig, type McpServers } from '../domain/mcp-server.js';

export type Sealing<T> =
  | { readonly kind: 'sealed'; readonly value: T }
  | { readonly kind: 'invalid'; readonly issues: readonly Issue[] };

/** Encrypts `env` and `headers` of MCP servers, which hold credentials; each value for its own place. */
@Injectable()
export class ServerSecrets {
  constructor(private readonly box: SecretBox) {}

  /**
   * Encrypts every value for its place below `owner`. A value of `***`, which is what responses show, keeps the stored one,
   * but only for a server of which nothing else changes: otherwise a member who may update the server could have the
   * credentials of others sent to another address. Pointers of issues are relative to the server.
   */
  seal(owner: string, server: McpServerConfig, stored?: McpServerConfig): Sealing<McpServerConfig> {
    const kept = stored ? keptSecrets(stored, server) : new Map<string, string>();
    const issues: Issue[] = [];
    const value = mapSecrets(server, (plain, place) => {
      if (plain !== MASKED) return this.box.seal(plain, serverPurpose(owner, place));
      const old = kept.get(place);
      if (old === undefined) issues.push({ pointer: place, detail: NOTHING_TO_KEEP });
      return old ?? '';
    });
    return issues.length > 0 ? { kind: 'invalid', issues } : { kind: 'sealed', value };
  }

  /** {@link seal} for each of a map, whose pointer is `at`. */
  sealAll(owner: string, servers: McpServers, stored: McpServers | null, at: string): Sealing<McpServers> {
    const issues: Issue[] = [];
    const value = mapServers(servers, (server, name) => {
      const known = stored && Object.hasOwn(stored, name) ? stored[name] : undefined;
      const sealing = this.seal(below(owner, name), server, known);
      if (sealing.kind === 'sealed') return sealing.value;
      issues.push(...prefixIssues(at + pointerOf(name), sealing.issues));
      return server;
    });
    return issues.length > 0 ? { kind: 'invalid', issues } : { kind: 'sealed', value };
  }

  /** In clear; for the runner, never for a response. */
  open(owner: string, server: McpServerConfig): McpServerConfig {
    return mapSecrets(server, (sealed, place) => this.box.open(sealed, serverPurpose(owner, place)));
  }

  openAll(owner: string, servers: McpServers): Record<string, McpServerConfig> {
    return mapServers(servers, (server, name) => this.open(below(owner, name), server));
  }
}

const NOTHING_TO_KEEP = `must be sent again in clear: ${MASKED} keeps a stored value only while command, arguments and URL stay the same and no other value of env or headers is given`;

export const identityOwner = (uid: string): string => `identity/${uid}`;
export const registeredOwner = (uid: string): string => `registered/${uid}`;

const below = (owner: string, name: string): string => owner + pointerOf(name);

/** What a value of a server is sealed for; `pointer` names it below its owner: `/issues/env/TOKEN`. */
export const serverPurpose = (owner: string, pointer: string): string => `mcp-server/${owner}${pointer}`;

const VALUES_OF_SERVER = [
  ['env', '*'],
  ['headers', '*'],
];
export const SERVER_VALUES = VALUES_OF_SERVER.map((path) => ['*', ...path]);

export const AGENTS_ENCRYPTED_COLUMNS = [
  encryptedColumn({
    table: 'mcp_servers',
    key: { column: 'uid', type: 'text' },
    context: ['uid'],
    column: 'config',
    json: { values: VALUES_OF_SERVER },
    purpose: ({ uid }, pointer) => serverPurpose(registeredOwner(uid), pointer),
  }),
  encryptedColumn({
    table: 'agent_identities',
    key: { column: 'uid', type: 'text' },
    context: ['uid'],
    column: 'mcp_servers',
    json: { values: SERVER_VALUES },
    purpose: ({ uid }, pointer) => serverPurpose(identityOwner(uid), pointer),
  }),
];
