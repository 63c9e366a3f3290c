import type { IdentityFields } from './agent-identity.js';

/** An identity of a team as definitions see it; `env` and `headers` of its MCP servers are sealed. */
export interface DefinedIdentity extends IdentityFields {
  readonly uid: string;
}
