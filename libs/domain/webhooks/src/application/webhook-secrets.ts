import { Injectable } from '@nestjs/common';
import { SealBrokenError, SecretBox } from '#platform/secrets';

/** Encrypts the copies of its credential that a webhook keeps. */
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

  /** Null for a secret that cannot be decrypted, and therefore not be confirmed. */
  openCaptured(uid: string, sealed: string): string | null {
    try {
      return this.box.open(sealed, capturedContext(uid));
    } catch (error) {
      if (error instanceof SealBrokenError) return null;
      throw error;
    }
  }
}

/** The encryption contexts, also used when the values are encrypted under another key. */
export const secretContext = (uid: string): string => `webhook/${uid}/secret`;
export const capturedContext = (uid: string): string => `webhook/${uid}/captured-secret`;
