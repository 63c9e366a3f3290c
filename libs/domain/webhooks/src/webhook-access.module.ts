import { Module } from '@nestjs/common';
import { FactoriesModule } from '#domain/factories';
import { WebhookAccess } from './application/webhook-access.js';
import { WebhookLookups } from './persistence/webhook-lookups.js';

@Module({
  imports: [FactoriesModule],
  providers: [WebhookLookups, WebhookAccess],
  exports: [WebhookLookups, WebhookAccess],
})
export class WebhookAccessModule {}
