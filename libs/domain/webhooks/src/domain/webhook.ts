export const AUTH_MODES = ['token', 'url_token', 'signature'] as const;
export type AuthMode = (typeof AUTH_MODES)[number];

/** Created by a caller of the API, or by the definition files of the factory. */
export const WEBHOOK_SOURCES = ['api', 'definition'] as const;
export type WebhookSource = (typeof WEBHOOK_SOURCES)[number];

export const MAX_WEBHOOKS_PER_FACTORY = 20;
export const MAX_WEBHOOK_NAME = 200;

/** An address to which a sender posts deliveries. */
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
  /** Waits for the handshake that brings the secret, or for its confirmation by a user. */
  readonly secretPending: boolean;
  readonly source: WebhookSource;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A webhook with the fields that its management needs. */
export interface ManagedWebhook extends Webhook {
  /** A bigint, as text. */
  readonly id: string;
  /** False while the secret of the sender is missing. */
  readonly hasSecret: boolean;
  /** Its managed secret was created for it alone. */
  readonly secretOwned: boolean;
  /** The encrypted secret of a handshake, until a user confirms it. */
  readonly sealedCapturedSecret: string | null;
}

/** The fields of a webhook in a definition file. */
export interface WebhookSettings {
  readonly name: string;
  readonly authMode: AuthMode;
  readonly signatureScheme: string | null;
  /** A managed secret of the team. */
  readonly secretName: string;
  /** In any case; header names are compared and stored in lower case. */
  readonly deliveryIdHeader: string | null;
  readonly enabled: boolean;
}

/** A stored webhook, to compare with its file; `deliveryIdHeader` in lower case. */
export interface DefinedWebhook extends WebhookSettings {
  readonly uid: string;
  readonly source: WebhookSource;
  /** Version of the managed secret that senders have to use; null while a webhook of the API has no secret. */
  readonly secretVersion: number | null;
  /** Current version of the managed secret; null when it was deleted. */
  readonly managedSecretVersion: number | null;
}

/** An invalid setting; `detail` completes "`secretName` …". */
export interface WebhookSettingIssue {
  readonly field: keyof WebhookSettings;
  readonly detail: string;
}

/** The URL that a sender posts to; it contains `token` in `url_token` mode only. */
export const ingressUrl = (
  origin: string,
  { uid, authMode }: Pick<Webhook, 'uid' | 'authMode'>,
  token: string,
): string => `${origin}/webhooks/w/${uid}${authMode === 'url_token' ? `/${token}` : ''}`;
