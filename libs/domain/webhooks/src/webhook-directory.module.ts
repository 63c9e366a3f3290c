import { Module } from '@nestjs/common';
import { WebhookDirectory } from './application/webhook-directory.js';

/** For rooms above that refer to webhooks and their deliveries. */
@Module({ providers: [WebhookDirectory], exports: [WebhookDirectory] })
export class WebhookDirectoryModule {}
