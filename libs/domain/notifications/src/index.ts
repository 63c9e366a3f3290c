export { inOneLine } from './domain/formats/chat-message.js';
export { escaped as escapedForSlack, link as slackLink } from './domain/formats/slack.js';
export { DeliverNotifications } from './application/deliver-notifications.js';
export { NOTIFICATION_MESSAGES } from './http/notification-message.dto.js';
export { NotificationsHttpModule, NotificationsJobsModule, NotificationsModule } from './notifications.module.js';
export { RunOutcomesStore } from './persistence/run-outcomes.store.js';
export { NOTIFICATIONS_ENCRYPTED_COLUMNS } from './persistence/encrypted-columns.js';
