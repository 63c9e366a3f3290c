import { Injectable } from '@nestjs/common';
import { SecretBox } from '#libs/secrets';

/** A webhook's copies of its credential lie sealed, each for its own webhook and place. */
@Injectable()
export class WebhookSecrets {
  constructor(private readonly box: SecretBox) {}

  seal(uid: string, secret: string): string {
    return this.box.seal(secret, secretContext(uid));
  }

  open(uid: string, sealed: string): string {
    return this.box.open(sealed, secretContext(uid));
  }

  sealCaptured(uid: string, secret: string): string {
    return this.box.seal(secret, capturedContext(uid));
  }

  openCaptured(uid: string, sealed: string): string {
    return this.box.open(sealed, capturedContext(uid));
  }
}

/** Where the values lie, for whoever seals them anew under another key. */
export const secretContext = (uid: string): string => `webhook/${uid}/secret`;
export const capturedContext = (uid: string): string => `webhook/${uid}/captured-secret`;
