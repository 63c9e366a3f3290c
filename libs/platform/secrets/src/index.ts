export {
  type ChangedSecret,
  ManagedSecrets,
  SecretChangeListener,
  SecretChangeListeners,
  SecretRejectedError,
  type SecretUse,
} from './application/managed-secrets.js';
export { MANAGED_SECRET, SECRET_NAME, SECRET_NAME_RULE, SECRET_PURPOSES } from './domain/managed-secret.js';
export { type EncryptedColumn, encryptedColumn } from './encrypted-column.js';
export { byTable, KeyRotation } from './persistence/key-rotation.js';
export { SealBrokenError, SecretBox } from './secret-box.js';
export { SecretsHttpModule, SecretsModule } from './secrets.module.js';
