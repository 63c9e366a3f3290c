import { Global, Module } from '@nestjs/common';
import { AuditModule } from '#platform/audit';
import { AuthModule } from '#platform/auth';
import { ManagedSecrets, SecretChangeListeners } from './application/managed-secrets.js';
import { SecretsController } from './http/secrets.controller.js';
import { KeyRotation } from './persistence/key-rotation.js';
import { ManagedSecretsStore } from './persistence/managed-secrets.store.js';
import { SecretBox } from './secret-box.js';

const PUBLIC = [SecretBox, SecretChangeListeners, ManagedSecrets, KeyRotation];

/** Encryption at rest, and managed secrets. Needs `Settings` with a secrets key and `Database` to be provided globally. */
@Global()
@Module({ imports: [AuditModule], providers: [ManagedSecretsStore, ...PUBLIC], exports: PUBLIC })
export class SecretsModule {}

@Module({ imports: [AuthModule, SecretsModule], controllers: [SecretsController] })
export class SecretsHttpModule {}
