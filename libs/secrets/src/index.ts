export { SealBrokenError, SecretBox } from './secret-box.js';
export { SecretsModule } from './secrets.module.js';
