import { Module } from '@nestjs/common';
import { AuthHttpModule, AuthModule } from '#platform/auth';
import { RunsModule } from '#domain/runs';
import { SecretsModule } from '#platform/secrets';
import { HostResolver, NotificationSender } from './adapters/notification-sender.js';
import { AddressGuard, TargetRules } from './adapters/target-rules.js';
import { DeliverNotifications } from './application/deliver-notifications.js';
import { NotificationDecisions } from './application/notification-decisions.js';
import { NotificationOutbox } from './application/notification-outbox.js';
import { NotificationWebhooksService } from './application/notification-webhooks.service.js';
import { DecisionPagesController } from './http/decision-pages.controller.js';
import { NotificationWebhooksController } from './http/notification-webhooks.controller.js';
import { NotificationSending } from './jobs/notification-sending.js';
import { NotificationDeliveriesStore } from './persistence/notification-deliveries.store.js';
import { NotificationWebhooksStore } from './persistence/notification-webhooks.store.js';
import { RunOutcomesStore } from './persistence/run-outcomes.store.js';

/**
 * Every process in which the state of a run may change imports it, because messages are written in the transaction of the
 * change.
 */
@Module({
  imports: [AuthModule, RunsModule, SecretsModule],
  providers: [
    NotificationWebhooksStore,
    NotificationDeliveriesStore,
    RunOutcomesStore,
    AddressGuard,
    TargetRules,
    HostResolver,
    NotificationSender,
    NotificationOutbox,
    NotificationWebhooksService,
    NotificationDecisions,
    DeliverNotifications,
  ],
  exports: [
    NotificationDecisions,
    RunOutcomesStore,
    NotificationDeliveriesStore,
    NotificationWebhooksService,
    DeliverNotifications,
  ],
})
export class NotificationsModule {}

@Module({
  imports: [NotificationsModule, AuthHttpModule],
  controllers: [NotificationWebhooksController, DecisionPagesController],
})
export class NotificationsHttpModule {}

/** For the processor: sends messages and prunes finished deliveries. */
@Module({ imports: [NotificationsModule], providers: [NotificationSending] })
export class NotificationsJobsModule {}
