import { Module } from '@nestjs/common';
import { AuthModule } from '#platform/auth';
import { RunsModule } from '#domain/runs';
import { SecretsModule } from '#platform/secrets';
import { AddressGuard } from './adapters/address-guard.js';
import { HttpSender, SystemResolver } from './adapters/http-sender.js';
import { TargetRules } from './adapters/target-rules.js';
import { DeliverNotifications } from './application/deliver-notifications.js';
import { NotificationOutbox } from './application/notification-outbox.js';
import { DeliveryNudge, HostResolver, NotificationSender } from './application/ports.js';
import { ListDeliveries, RotateSecret, TestWebhook } from './application/webhook-care.js';
import { WebhookSecrets } from './application/webhook-secrets.js';
import { CreateWebhook, DeleteWebhook, FindWebhooks, UpdateWebhook } from './application/webhooks.js';
import { NotificationWebhookCareController } from './http/webhook-care.controller.js';
import { NotificationWebhooksController } from './http/webhooks.controller.js';
import { NotificationSending } from './jobs/notification-sending.js';
import { QueueDeliveryNudge } from './jobs/queue-delivery-nudge.js';
import { DeliveriesStore } from './persistence/deliveries.store.js';
import { OutboxStore } from './persistence/outbox.store.js';
import { WebhooksStore } from './persistence/webhooks.store.js';

const USE_CASES = [
  FindWebhooks,
  CreateWebhook,
  UpdateWebhook,
  DeleteWebhook,
  RotateSecret,
  TestWebhook,
  ListDeliveries,
  DeliverNotifications,
];

/**
 * The notifications room. Every process in which runs may end has to import it: it writes the messages about them in
 * the same transaction.
 */
@Module({
  imports: [AuthModule, RunsModule, SecretsModule],
  providers: [
    WebhooksStore,
    DeliveriesStore,
    OutboxStore,
    WebhookSecrets,
    AddressGuard,
    TargetRules,
    NotificationOutbox,
    { provide: DeliveryNudge, useClass: QueueDeliveryNudge },
    { provide: HostResolver, useClass: SystemResolver },
    { provide: NotificationSender, useClass: HttpSender },
    ...USE_CASES,
  ],
  exports: [DeliveriesStore, ...USE_CASES],
})
export class NotificationsModule {}

@Module({
  imports: [NotificationsModule],
  controllers: [NotificationWebhooksController, NotificationWebhookCareController],
})
export class NotificationsHttpModule {}

/** The room's background work, for the processor: sending. */
@Module({ imports: [NotificationsModule], providers: [NotificationSending] })
export class NotificationsJobsModule {}
