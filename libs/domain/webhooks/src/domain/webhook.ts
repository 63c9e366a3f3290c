export const AUTH_MODES = ['token', 'url_token', 'signature'] as const;
export type AuthMode = (typeof AUTH_MODES)[number];

/** Who wrote it: a caller of the API, or a factory's definition files. */
export const WEBHOOK_SOURCES = ['api', 'definition'] as const;
export type WebhookSource = (typeof WEBHOOK_SOURCES)[number];

export const MAX_WEBHOOKS_PER_FACTORY = 20;
export const MAX_WEBHOOK_NAME = 200;

/** An address that a sender posts to, as it is managed. */
export interface Webhook {
  /** 22 of `[A-Za-z0-9]`, 128 random bits; a part of the ingress URL. */
  readonly uid: string;
  readonly factoryUid: string;
  readonly teamUid: string;
  readonly name: string;
  readonly authMode: AuthMode;
  /** With `signature` only. */
  readonly signatureScheme: string | null;
  /** The managed secret of the team that holds the credential. */
  readonly secretName: string;
  readonly deliveryIdHeader: string | null;
  readonly enabled: boolean;
  /** Waits for a handshake that brings the secret, or for somebody to confirm the one that it brought. */
  readonly secretPending: boolean;
  readonly source: WebhookSource;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}
