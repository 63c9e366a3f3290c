import type { MigrationClass } from '#libs/persistence';
import { Agents1700000002501 } from './persistence/agents-1700000002501.js';

export { AgentsHttpModule, AgentsModule } from './agents.module.js';
export { AgentDirectory } from './application/agent-directory.js';
export type { AgentIdentity, IdentityHarness } from './domain/agent-identity.js';
export { mapSecrets, mapServers, type McpServerConfig } from './domain/mcp-server.js';
export { HarnessConfig as HarnessConfigDto, McpServerConfig as McpServerConfigDto } from './http/agent-parts.dto.js';
export { IdentitiesPlace, McpServersPlace } from './persistence/sealed-places.js';
export const agentMigrations: readonly MigrationClass[] = [Agents1700000002501];
