import type { IdentityFields } from './agent-identity.js';

/** An identity of a team as definitions see it; `env` and `headers` of its MCP servers are sealed. */
export interface DefinedIdentity extends IdentityFields {
  readonly uid: string;
}

/** One thing that is wrong with an identity. */
export interface IdentityIssue {
  /** JSON pointer into the fields: `/name`, `/environmentId`, `/mcpServers/issues/warp_id`. */
  readonly pointer: string;
  /** Completes "`field` …". */
  readonly detail: string;
}
