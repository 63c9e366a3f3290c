import { Injectable } from '@nestjs/common';
import { encryptedColumn, SecretBox } from '#platform/secrets';

const SECRET = encryptedColumn({
  table: 'notification_webhooks',
  key: { column: 'uid', type: 'text' },
  context: ['uid'],
  column: 'secret',
  purpose: ({ uid }) => `notification-webhook/${uid}/secret`,
});

export const NOTIFICATIONS_ENCRYPTED_COLUMNS = [SECRET, { ...SECRET, column: 'previous_secret' }];

/** Encrypts the signing secrets, each for its own webhook. */
@Injectable()
export class NotificationWebhookSecrets {
  constructor(private readonly box: SecretBox) {}

  seal(uid: string, secret: string): string {
    return this.box.sealColumn(SECRET, { uid }, secret);
  }

  open(uid: string, sealed: string): string {
    return this.box.openColumn(SECRET, { uid }, sealed);
  }
}
