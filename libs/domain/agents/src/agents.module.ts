import { Module } from '@nestjs/common';
import { AuthModule } from '#platform/auth';
import { EnvironmentsModule } from '#domain/environments';
import { SecretsModule } from '#platform/secrets';
import { OfferedModels } from './adapters/offered-models.js';
import { AgentDirectory, StoredAgentDirectory } from './application/agent-directory.js';
import { DefinedIdentities } from './application/defined-identities.js';
import { DefinedIdentityRules } from './application/defined-identity-rules.js';
import { CreateIdentity, DeleteIdentity, FindIdentities, UpdateIdentity } from './application/identities.js';
import { IdentityReferences } from './application/identity-references.js';
import { CreateMcpServer, DeleteMcpServer, FindMcpServers, UpdateMcpServer } from './application/mcp-servers.js';
import { ServerSecrets } from './application/server-secrets.js';
import { ConfiguredHarnesses } from './harnesses/adapters/configured-harnesses.js';
import { ListHarnesses } from './harnesses/application/list-harnesses.js';
import { HarnessesController } from './harnesses/http/harnesses.controller.js';
import { HarnessReports } from './harnesses/jobs/harness-reports.js';
import { HarnessInstallationsStore } from './harnesses/persistence/harness-installations.store.js';
import { IdentitiesController } from './http/identities.controller.js';
import { McpServersController } from './http/mcp-servers.controller.js';
import { ModelsController } from './http/models.controller.js';
import { DefinedIdentitiesStore } from './persistence/defined-identities.store.js';
import { IdentitiesStore } from './persistence/identities.store.js';
import { McpServersStore } from './persistence/mcp-servers.store.js';
import { BuiltInSources } from './skills/adapters/built-in-sources.js';
import { ShippedSkills } from './skills/adapters/shipped-skills.js';
import { BundledSkills } from './skills/application/bundled-skills.js';
import { FactorySkills } from './skills/application/factory-skills.js';
import { FoundSkills } from './skills/application/found-skills.js';
import { WorkerSkillsStore } from './skills/persistence/worker-skills.store.js';
import { ListSkills } from './skills/application/list-skills.js';
import { ReadSkills } from './skills/application/read-skills.js';
import { SkillCache } from './skills/application/skill-cache.js';
import { SkillDirectory } from './skills/application/skill-directory.js';
import { SkillRepositories } from './skills/application/skill-repositories.js';
import { SkillRuns } from './skills/application/skill-runs.js';
import { SkillSources } from './skills/application/skill-sources.js';
import { SkillsController } from './skills/http/skills.controller.js';
import { SkillsFarewell } from './skills/http/skills-farewell.js';

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

/** Skills: found in repositories, and those that ship with us. */
const SKILLS = [
  SkillRuns,
  FactorySkills,
  SkillSources,
  BuiltInSources,
  ReadSkills,
  SkillCache,
  SkillRepositories,
  ListSkills,
  WorkerSkillsStore,
  { provide: BundledSkills, useClass: ShippedSkills },
  { provide: SkillDirectory, useClass: FoundSkills },
];

/** The agents room: agent identities, registered MCP servers, skills, and the harnesses that are known. */
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
    ConfiguredHarnesses,
    HarnessInstallationsStore,
    { provide: AgentDirectory, useClass: StoredAgentDirectory },
    ...SKILLS,
    ...USE_CASES,
  ],
  exports: [
    AgentDirectory,
    ConfiguredHarnesses,
    HarnessInstallationsStore,
    SkillDirectory,
    SkillRuns,
    FactorySkills,
    SkillSources,
    ListSkills,
    ReadSkills,
    DefinedIdentities,
    ServerSecrets,
    ...USE_CASES,
  ],
})
export class AgentsModule {}

@Module({
  imports: [AgentsModule],
  controllers: [IdentitiesController, McpServersController, ModelsController, HarnessesController, SkillsController],
  providers: [OfferedModels, ListHarnesses, SkillsFarewell],
})
export class AgentsHttpModule {}

/** Reports which agents this machine has. */
@Module({ imports: [AgentsModule], providers: [HarnessReports] })
export class AgentsJobsModule {}
