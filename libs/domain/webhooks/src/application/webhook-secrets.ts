import { Injectable } from '@nestjs/common';
import { SealBrokenError, SecretBox } from '#platform/secrets';

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

  /** Null for one that does not open under the keys at hand: nobody can confirm what nobody can read. */
  openCaptured(uid: string, sealed: string): string | null {
    try {
      return this.box.open(sealed, capturedContext(uid));
    } catch (error) {
      if (error instanceof SealBrokenError) return null;
      throw error;
    }
  }
}

/** Where the values lie, for whoever seals them anew under another key. */
export const secretContext = (uid: string): string => `webhook/${uid}/secret`;
export const capturedContext = (uid: string): string => `webhook/${uid}/captured-secret`;
