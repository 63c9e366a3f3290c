import { Module } from '@nestjs/common';
import { AuthModule } from '#platform/auth';
import { SecretsController } from './http/secrets.controller.js';
import { SecretsModule } from './secrets.module.js';

/** Managed secrets over HTTP. */
@Module({ imports: [AuthModule, SecretsModule], controllers: [SecretsController] })
export class SecretsHttpModule {}
