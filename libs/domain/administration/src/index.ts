export { AdministrationHttpModule } from './administration.module.js';
