import { Module } from '@nestjs/common';
import { EnvironmentsModule } from '#domain/environments';
import { AuthModule } from '#platform/auth';
import { SecretsModule } from '#platform/secrets';
import { OfferedModels } from './adapters/offered-models.js';
import { AgentDirectory } from './application/agent-directory.js';
import { DefinedIdentities } from './application/defined-identities.js';
import { IdentitiesService } from './application/identities.service.js';
import { IdentityRules } from './application/identity-rules.js';
import { McpServersService } from './application/mcp-servers.service.js';
import { ServerSecrets } from './application/server-secrets.js';
import { ConfiguredHarnesses } from './harnesses/adapters/configured-harnesses.js';
import { HarnessesController } from './harnesses/http/harnesses.controller.js';
import { HarnessReports } from './harnesses/jobs/harness-reports.js';
import { HarnessInstallationsStore } from './harnesses/persistence/harness-installations.store.js';
import { IdentitiesController } from './http/identities.controller.js';
import { McpServersController } from './http/mcp-servers.controller.js';
import { ModelsController } from './http/models.controller.js';
import { IdentitiesStore } from './persistence/identities.store.js';
import { McpServersStore } from './persistence/mcp-servers.store.js';
import { BuiltInSources } from './skills/adapters/built-in-sources.js';
import { BundledSkills } from './skills/application/bundled-skills.js';
import { FactorySkills } from './skills/application/factory-skills.js';
import { ListSkills, SkillRuns } from './skills/application/list-skills.js';
import { ReadSkills } from './skills/application/read-skills.js';
import { SkillCache } from './skills/application/skill-cache.js';
import { SkillDirectory } from './skills/application/skill-directory.js';
import { SkillRepositories } from './skills/application/skill-repositories.js';
import { SkillSources } from './skills/application/skill-sources.js';
import { SkillsController } from './skills/http/skills.controller.js';
import { WorkerSkillsStore } from './skills/persistence/worker-skills.store.js';

@Module({
  imports: [AuthModule, EnvironmentsModule, SecretsModule],
  providers: [
    IdentitiesStore,
    McpServersStore,
    HarnessInstallationsStore,
    WorkerSkillsStore,
    IdentityRules,
    IdentitiesService,
    DefinedIdentities,
    McpServersService,
    ServerSecrets,
    AgentDirectory,
    ConfiguredHarnesses,
    BundledSkills,
    BuiltInSources,
    FactorySkills,
    ListSkills,
    ReadSkills,
    SkillCache,
    SkillDirectory,
    SkillRepositories,
    SkillRuns,
    SkillSources,
  ],
  exports: [
    IdentitiesService,
    DefinedIdentities,
    McpServersService,
    ServerSecrets,
    AgentDirectory,
    ConfiguredHarnesses,
    HarnessInstallationsStore,
    FactorySkills,
    ListSkills,
    ReadSkills,
    SkillDirectory,
    SkillRuns,
  ],
})
export class AgentsModule {}

@Module({
  imports: [AgentsModule],
  controllers: [IdentitiesController, McpServersController, ModelsController, HarnessesController, SkillsController],
  providers: [OfferedModels],
})
export class AgentsHttpModule {}

@Module({ imports: [AgentsModule], providers: [HarnessReports] })
export class AgentsJobsModule {}
