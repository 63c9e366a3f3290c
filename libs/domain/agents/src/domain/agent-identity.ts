import type { McpServers } from './mcp-server.js';

/** As on the wire. */
interface IdentityHarness {
  type?: string;
  model_id?: string;
  reasoning_level?: string;
}

export interface IdentityFields {
  readonly name: string;
  readonly description: string | null;
  readonly prompt: string | null;
  readonly environmentId: string | null;
  readonly defaultRunnerUid: string;
  readonly workerHost: string | null;
  readonly baseModel: string | null;
  readonly harness: IdentityHarness | null;
  readonly skills: readonly string[];
  readonly mcpServers: McpServers | null;
  /** Names of managed secrets of the team that its runs get as variables. */
  readonly secrets: readonly string[];
  readonly autoMemory: boolean;
  /** false: no new run may use it. */
  readonly available: boolean;
}

/** What is left out stays as it is. */
export type IdentityChanges = Partial<IdentityFields>;

/** `env` and `headers` of its MCP servers are sealed, except in what `AgentDirectory` returns. */
export interface AgentIdentity extends IdentityFields {
  /** Also the uid of its service account. */
  readonly uid: string;
  readonly teamUid: string;
  /** Of the definition that it is part of; null: made through the API. */
  readonly factoryUid: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export const BLANK_IDENTITY: Omit<IdentityFields, 'name'> = {
  description: null,
  prompt: null,
  environmentId: null,
  defaultRunnerUid: '',
  workerHost: null,
  baseModel: null,
  harness: null,
  skills: [],
  mcpServers: null,
  secrets: [],
  autoMemory: false,
  available: true,
};
