import { Injectable } from '@nestjs/common';
import { MASKED } from '#platform/kernel';
import { SecretBox } from '#platform/secrets';
import {
  type FieldIssue,
  keptSecrets,
  mapSecrets,
  mapServers,
  type McpServerConfig,
  type McpServers,
  pointerToken,
} from '../domain/mcp-server.js';

export type Sealing<T> =
  { readonly kind: 'sealed'; readonly value: T } | { readonly kind: 'invalid'; readonly issues: readonly FieldIssue[] };

/** `env` and `headers` of MCP servers hold credentials: they lie in tables sealed, each value for its own place. */
@Injectable()
export class ServerSecrets {
  constructor(private readonly box: SecretBox) {}

  /**
   * Seals every value for its place below `owner`. A value of `***`, which is what responses show, keeps the stored one,
   * but only of a server of which nothing else changes: else whoever may change it could have the credentials of others
   * sent to a receiver of their own. Pointers of issues are relative to the server.
   */
  seal(owner: string, server: McpServerConfig, stored?: McpServerConfig): Sealing<McpServerConfig> {
    const kept = stored ? keptSecrets(stored, server) : new Map<string, string>();
    const issues: FieldIssue[] = [];
    const value = mapSecrets(server, (plain, place) => {
      if (plain !== MASKED) return this.box.seal(plain, context(owner, place));
      const old = kept.get(place);
      if (old === undefined) issues.push({ pointer: place, detail: NOTHING_TO_KEEP });
      return old ?? '';
    });
    return issues.length > 0 ? { kind: 'invalid', issues } : { kind: 'sealed', value };
  }

  /** {@link seal} for each of a map, whose pointer is `at`. */
  sealAll(owner: string, servers: McpServers, stored: McpServers | null, at: string): Sealing<McpServers> {
    const issues: FieldIssue[] = [];
    const value = mapServers(servers, (server, name) => {
      const known = stored && Object.hasOwn(stored, name) ? stored[name] : undefined;
      const sealing = this.seal(below(owner, name), server, known);
      if (sealing.kind === 'sealed') return sealing.value;
      issues.push(
        ...sealing.issues.map(({ pointer, detail }) => ({ pointer: `${at}/${pointerToken(name)}${pointer}`, detail })),
      );
      return server;
    });
    return issues.length > 0 ? { kind: 'invalid', issues } : { kind: 'sealed', value };
  }

  /** In clear; for the runner, never for a response. */
  open(owner: string, server: McpServerConfig): McpServerConfig {
    return mapSecrets(server, (sealed, place) => this.box.open(sealed, context(owner, place)));
  }

  openAll(owner: string, servers: McpServers): Record<string, McpServerConfig> {
    return mapServers(servers, (server, name) => this.open(below(owner, name), server));
  }
}

const NOTHING_TO_KEEP = `must be sent again in clear: ${MASKED} keeps a stored value only while command, arguments and URL stay the same and no other value of env or headers is given`;

const below = (owner: string, name: string): string => `${owner}/${pointerToken(name)}`;
const context = (owner: string, place: string): string => `mcp-server/${owner}${place}`;

type Anew = (sealed: string, context: string) => string;

/** With every value sealed anew, each for its own place. */
export const resealServer = (owner: string, server: McpServerConfig, anew: Anew): McpServerConfig =>
  mapSecrets(server, (sealed, place) => anew(sealed, context(owner, place)));

export const resealServers = (owner: string, servers: McpServers, anew: Anew): McpServers =>
  mapServers(servers, (server, name) => resealServer(below(owner, name), server, anew));

export const identityOwner = (uid: string): string => `identity/${uid}`;
export const registeredOwner = (uid: string): string => `registered/${uid}`;
