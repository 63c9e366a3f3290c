import type { MigrationClass } from '#libs/persistence';
import { Secrets1700000000601 } from './persistence/secrets-1700000000601.js';

export { ManagedSecrets, type RemoveSecretResult } from './application/managed-secrets.js';
export { RotateKey } from './application/rotate-key.js';
export { type Reseal, type ResealCount, SealedPlace, SealedPlaces } from './application/sealed-places.js';
export { type ChangedSecret, SecretRefusedError, SecretSink, SecretSinks } from './application/secret-sinks.js';
export { type SetSecretResult, TeamSecrets } from './application/team-secrets.js';
export { SECRET_NAME, SECRET_NAME_RULE } from './domain/managed-secret.js';
export { ManagedSecretsPlace } from './persistence/managed-secrets-place.js';
export { sealedText, type SealedColumn, type SealedTable } from './persistence/reseal-table.js';
export { SealedTablePlace } from './persistence/sealed-table-place.js';
export { SealBrokenError, SecretBox } from './secret-box.js';
export { SecretsHttpModule } from './secrets-http.module.js';
export { SecretsModule } from './secrets.module.js';
export const secretMigrations: readonly MigrationClass[] = [Secrets1700000000601];
