export { byTable, KeyRotation } from './application/key-rotation.js';
export { type DeleteSecretResult, ManagedSecrets } from './application/managed-secrets.js';
export {
  type ChangedSecret,
  SecretChangeListener,
  SecretChangeListeners,
  SecretRejectedError,
} from './application/secret-change-listeners.js';
export { type PutSecretResult, TeamSecrets } from './application/team-secrets.js';
export {
  MANAGED_SECRET,
  SECRET_NAME,
  SECRET_NAME_RULE,
  SECRET_PURPOSES,
  type SecretPurpose,
} from './domain/managed-secret.js';
export { type EncryptedColumn, encryptedColumn } from './encrypted-column.js';
export { SealBrokenError, SecretBox } from './secret-box.js';
export { SecretsHttpModule } from './secrets-http.module.js';
export { SecretsModule } from './secrets.module.js';
