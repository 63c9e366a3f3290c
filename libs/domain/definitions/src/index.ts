export { DefinitionsHttpModule } from './definitions-http.module.js';
export { DefinitionsModule } from './definitions.module.js';
export { DispatchModule } from './dispatch.module.js';
export { FactoryFileSchemasModule } from './factory-file-schemas.module.js';
export { FactorySkillsModule } from './factory-skills.module.js';
export type { DefinitionFile, Diagnostic, PlanEntry } from './domain/definition.js';
