import { Module } from '@nestjs/common';
import { WebhookDirectoryModule } from '#libs/webhooks';
import { WebhookTrigger } from './adapters/webhook-trigger.js';
import { TriggerProviders } from './application/trigger-providers.js';

/** The kinds of triggers. Who brings another one imports this, and registers it with `TriggerProviders`. */
@Module({
  imports: [WebhookDirectoryModule],
  providers: [TriggerProviders, WebhookTrigger],
  exports: [TriggerProviders, WebhookTrigger],
})
export class TriggersModule {}
