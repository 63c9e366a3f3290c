import { Module } from '@nestjs/common';
import { AuthModule } from '#libs/auth';
import { EnvironmentsModule } from '#libs/environments';
import { SecretsModule } from '#libs/secrets';
import { OfferedModels } from './adapters/offered-models.js';
import { AgentDirectory, StoredAgentDirectory } from './application/agent-directory.js';
import { DefinedIdentities } from './application/defined-identities.js';
import { DefinedIdentityRules } from './application/defined-identity-rules.js';
import { CreateIdentity, DeleteIdentity, FindIdentities, UpdateIdentity } from './application/identities.js';
import { IdentityReferences } from './application/identity-references.js';
import { CreateMcpServer, DeleteMcpServer, FindMcpServers, UpdateMcpServer } from './application/mcp-servers.js';
import { ServerSecrets } from './application/server-secrets.js';
import { IdentitiesController } from './http/identities.controller.js';
import { McpServersController } from './http/mcp-servers.controller.js';
import { ModelsController } from './http/models.controller.js';
import { DefinedIdentitiesStore } from './persistence/defined-identities.store.js';
import { IdentitiesStore } from './persistence/identities.store.js';
import { McpServersStore } from './persistence/mcp-servers.store.js';

const USE_CASES = [
  FindIdentities,
  CreateIdentity,
  UpdateIdentity,
  DeleteIdentity,
  FindMcpServers,
  CreateMcpServer,
  UpdateMcpServer,
  DeleteMcpServer,
];

/** The agents room: agent identities and registered MCP servers. */
@Module({
  imports: [AuthModule, EnvironmentsModule, SecretsModule],
  providers: [
    IdentitiesStore,
    McpServersStore,
    ServerSecrets,
    IdentityReferences,
    DefinedIdentitiesStore,
    DefinedIdentityRules,
    DefinedIdentities,
    { provide: AgentDirectory, useClass: StoredAgentDirectory },
    ...USE_CASES,
  ],
  exports: [AgentDirectory, DefinedIdentities, ServerSecrets, ...USE_CASES],
})
export class AgentsModule {}

@Module({
  imports: [AgentsModule],
  controllers: [IdentitiesController, McpServersController, ModelsController],
  providers: [OfferedModels],
})
export class AgentsHttpModule {}
