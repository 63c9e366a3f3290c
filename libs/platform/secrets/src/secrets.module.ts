import { Global, Module } from '@nestjs/common';
import { KeyRotation } from './application/key-rotation.js';
import { ManagedSecrets } from './application/managed-secrets.js';
import { SecretChangeListeners } from './application/secret-change-listeners.js';
import { TeamSecrets } from './application/team-secrets.js';
import { ManagedSecretsStore } from './persistence/managed-secrets.store.js';
import { SecretBox } from './secret-box.js';

const PUBLIC = [SecretBox, SecretChangeListeners, ManagedSecrets, TeamSecrets, KeyRotation];

/** Encryption at rest, and managed secrets. Needs `Settings` with a secrets key and `Database` to be provided globally. */
@Global()
@Module({ providers: [ManagedSecretsStore, ...PUBLIC], exports: PUBLIC })
export class SecretsModule {}
