export { AgentsHttpModule, AgentsJobsModule, AgentsModule } from './agents.module.js';
export { AgentDirectory } from './application/agent-directory.js';
export { DefinedIdentities, type DefinedIdentity } from './application/defined-identities.js';
export {
  AGENTS_ENCRYPTED_COLUMNS,
  type Sealing,
  SERVER_VALUES,
  serverPurpose,
  ServerSecrets,
} from './application/server-secrets.js';
export { type AgentIdentity, BLANK_IDENTITY, type IdentityFields } from './domain/agent-identity.js';
export { mapSecrets, mapServers, type McpServerConfig, serverIssues } from './domain/mcp-server.js';
export { AUTO_MODEL } from './domain/model-catalogue.js';
export { ConfiguredHarnesses } from './harnesses/adapters/configured-harnesses.js';
export { HarnessConfig as HarnessConfigDto, McpServerConfig as McpServerConfigDto } from './http/mcp-server.dto.js';
export { GithubSkillSource } from './skills/adapters/github-skill-source.js';
export { MirrorSkillSource } from './skills/adapters/mirror-skill-source.js';
export { type FactorySkillFile, FactorySkills, type FactorySkillSource } from './skills/application/factory-skills.js';
export { SkillRuns, type SkillRunSource } from './skills/application/list-skills.js';
export {
  type ResolvedSkill,
  type Skill,
  SkillDirectory,
  type SkillSearch,
} from './skills/application/skill-directory.js';
export {
  type SkillCredential,
  type SkillRepository,
  SkillSource,
  SkillSources,
  type SourceReading,
} from './skills/application/skill-sources.js';
export { Harness } from './harnesses/domain/harness.js';
