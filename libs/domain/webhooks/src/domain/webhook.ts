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

/** A webhook as those see it who manage it. */
export interface ManagedWebhook extends Webhook {
  /** A bigint, as text. */
  readonly id: string;
  /** False while its sender's secret is still to come. */
  readonly hasSecret: boolean;
  /** Its managed secret was made for it alone. */
  readonly secretOwned: boolean;
  /** What a handshake brought, sealed, until somebody confirms it. */
  readonly sealedCapturedSecret: string | null;
}

/** What a definition file says of a webhook. */
export interface WebhookSettings {
  readonly name: string;
  readonly authMode: AuthMode;
  readonly signatureScheme: string | null;
  /** A managed secret of the team. */
  readonly secretName: string;
  /** In any case: header names are compared, and kept, in lower case. */
  readonly deliveryIdHeader: string | null;
  readonly enabled: boolean;
}

/** A webhook beside what its file says; `deliveryIdHeader` in lower case. */
export interface DefinedWebhook extends WebhookSettings {
  readonly uid: string;
  readonly source: WebhookSource;
  /** Of the managed secret's value that senders have to use; null while it has none, which only those of the API may lack. */
  readonly secretVersion: number | null;
  /** That the managed secret has now; null: it is gone. */
  readonly managedSecretVersion: number | null;
}

/** One thing that is wrong with a setting; `detail` completes "`secretName` …". */
export interface WebhookSettingIssue {
  readonly field: keyof WebhookSettings;
  readonly detail: string;
}

/** What a sender posts to; `token` is a part of it in `url_token` mode only. */
export const ingressUrl = (
  origin: string,
  { uid, authMode }: Pick<Webhook, 'uid' | 'authMode'>,
  token: string,
): string => `${origin}/webhooks/w/${uid}${authMode === 'url_token' ? `/${token}` : ''}`;
