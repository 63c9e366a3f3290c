import { encryptedColumn } from '#platform/secrets';

export const NOTIFICATION_SECRET = encryptedColumn({
  table: 'notification_webhooks',
  key: { column: 'uid', type: 'text' },
  context: ['uid'],
  column: 'secret',
  purpose: ({ uid }) => `notification-webhook/${uid}/secret`,
});

export const NOTIFICATIONS_ENCRYPTED_COLUMNS = [
  NOTIFICATION_SECRET,
  { ...NOTIFICATION_SECRET, column: 'previous_secret' },
];
