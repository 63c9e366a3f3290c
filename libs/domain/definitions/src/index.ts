export { DefinitionsHttpModule, DefinitionsModule, FactorySkillsModule } from './definitions.module.js';
export type { DefinitionFile, Diagnostic, PlanEntry } from './domain/definition.js';
