import { Injectable } from '@nestjs/common';
import { SecretBox } from '#platform/secrets';

/** Encrypts the signing secrets, each for its own webhook. */
@Injectable()
export class NotificationWebhookSecrets {
  constructor(private readonly box: SecretBox) {}

  seal(uid: string, secret: string): string {
    return this.box.seal(secret, secretContext(uid));
  }

  open(uid: string, sealed: string): string {
    return this.box.open(sealed, secretContext(uid));
  }
}

/** The encryption context, also used when the value is encrypted under another key. */
export const secretContext = (uid: string): string => `notification-webhook/${uid}/secret`;
