import type { MigrationClass } from '#libs/persistence';
import { Notifications1700000009001 } from './persistence/notifications-1700000009001.js';

export { DeliverNotifications } from './application/deliver-notifications.js';
export { NOTIFICATION_EVENTS, type NotificationEvent } from './domain/notification-webhook.js';
export { NotificationsHttpModule, NotificationsJobsModule, NotificationsModule } from './notifications.module.js';
export { NotificationWebhooksPlace } from './persistence/webhooks-sealed-place.js';
export const notificationMigrations: readonly MigrationClass[] = [Notifications1700000009001];
