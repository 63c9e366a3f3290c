import { Global, Module } from '@nestjs/common';
import { SecretBox } from './secret-box.js';

/** Encryption at rest. Needs `Settings` with a secrets key. */
@Global()
@Module({ providers: [SecretBox], exports: [SecretBox] })
export class SecretsModule {}
