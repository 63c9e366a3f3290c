import { Global, Module } from '@nestjs/common';
import { ManagedSecrets } from './application/managed-secrets.js';
import { RotateKey } from './application/rotate-key.js';
import { SealedPlaces } from './application/sealed-places.js';
import { SecretSinks } from './application/secret-sinks.js';
import { TeamSecrets } from './application/team-secrets.js';
import { ManagedSecretsStore } from './persistence/managed-secrets.store.js';
import { SecretBox } from './secret-box.js';

const PUBLIC = [SecretBox, SecretSinks, SealedPlaces, ManagedSecrets, TeamSecrets, RotateKey];

/** Encryption at rest, and managed secrets. Needs `Settings` with a secrets key and `Database` to be provided globally. */
@Global()
@Module({ providers: [ManagedSecretsStore, ...PUBLIC], exports: PUBLIC })
export class SecretsModule {}
