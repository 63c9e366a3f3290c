export { AgentsHttpModule, AgentsJobsModule, AgentsModule } from './agents.module.js';
export { AgentDirectory } from './application/agent-directory.js';
export { type CreateDefinedIdentityResult, DefinedIdentities } from './application/defined-identities.js';
export {
  AGENTS_ENCRYPTED_COLUMNS,
  type Sealing,
  SERVER_VALUES,
  serverPurpose,
  ServerSecrets,
} from './application/server-secrets.js';
export {
  type AgentIdentity,
  BLANK_IDENTITY,
  type IdentityFields,
  type IdentityHarness,
} from './domain/agent-identity.js';
export type { DefinedIdentity } from './application/defined-identities.js';
export { mapSecrets, mapServers, type McpServerConfig, type McpServers, serverIssues } from './domain/mcp-server.js';
export { HarnessConfig as HarnessConfigDto, McpServerConfig as McpServerConfigDto } from './http/mcp-server.dto.js';
export { AUTO_MODEL } from './domain/model-catalogue.js';
export { ConfiguredHarnesses } from './harnesses/adapters/configured-harnesses.js';
export { type FactorySkillFile, FactorySkills, type FactorySkillSource } from './skills/application/factory-skills.js';
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
  type SourceFile,
  type SourceReading,
} from './skills/application/skill-sources.js';
export { SkillRuns, type SkillRunSource } from './skills/application/list-skills.js';
export { SkillSources } from './skills/application/skill-sources.js';
export { GithubSkillSource } from './skills/adapters/github-skill-source.js';
export { MirrorSkillSource } from './skills/adapters/mirror-skill-source.js';
export { type PickedFile, pickSkillFiles, type TreeFile } from './skills/domain/skill-files.js';
