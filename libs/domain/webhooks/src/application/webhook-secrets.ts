import { Injectable } from '@nestjs/common';
import { encryptedColumn, SealBrokenError, SecretBox } from '#platform/secrets';

/** Re-encryption does not change `version`: senders are authenticated with the same value as before. */
const SECRET = encryptedColumn({
  table: 'webhooks',
  key: { column: 'id', type: 'bigint' },
  context: ['uid'],
  column: 'sealed_secret',
  purpose: ({ uid }) => `webhook/${uid}/secret`,
});

const CAPTURED_SECRET = encryptedColumn({
  ...SECRET,
  column: 'sealed_captured_secret',
  purpose: ({ uid }) => `webhook/${uid}/captured-secret`,
});

export const WEBHOOKS_ENCRYPTED_COLUMNS = [SECRET, CAPTURED_SECRET];

export interface SecretCopy {
  readonly sealed: string;
  readonly version: number;
}

@Injectable()
export class WebhookSecrets {
  constructor(private readonly box: SecretBox) {}

  copyOf(uid: string, { value, version }: { readonly value: string; readonly version: number }): SecretCopy {
    return { sealed: this.box.sealColumn(SECRET, { uid }, value), version };
  }

  open(uid: string, sealed: string): string {
    return this.box.openColumn(SECRET, { uid }, sealed);
  }

  sealCaptured(uid: string, secret: string): string {
    return this.box.sealColumn(CAPTURED_SECRET, { uid }, secret);
  }

  /** Null for a secret that cannot be decrypted, and therefore not be confirmed. */
  openCaptured(uid: string, sealed: string): string | null {
    try {
      return this.box.openColumn(CAPTURED_SECRET, { uid }, sealed);
    } catch (error) {
      if (error instanceof SealBrokenError) return null;
      throw error;
    }
  }
}
