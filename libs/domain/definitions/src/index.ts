export { DefinitionsHttpModule, FactorySkillsModule } from './definitions.module.js';
