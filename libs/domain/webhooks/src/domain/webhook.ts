/** Of Headrace itself; a plugin adds others with an `IngressAuthMode`. */
export const AUTH_MODES = ['token', 'url_token', 'signature'] as const;
export type BuiltInAuthMode = (typeof AUTH_MODES)[number];

/** Created by a caller of the API, or by the definition files of the factory. */
export const WEBHOOK_SOURCES = ['api', 'definition'] as const;
export type WebhookSource = (typeof WEBHOOK_SOURCES)[number];

export const MAX_WEBHOOKS_PER_FACTORY = 20;
export const MAX_WEBHOOK_NAME = 200;

/** The fields of a webhook in a definition file. */
export interface WebhookSettings {
  readonly name: string;
  /** A {@link BuiltInAuthMode}, or a mode of a plugin. */
  readonly authMode: string;
  /** With `signature` only. */
  readonly signatureScheme: string | null;
  /** The managed secret of the team that holds the credential. */
  readonly secretName: string;
  /** Requests may have it in any case; it is compared and stored in lower case. */
  readonly deliveryIdHeader: string | null;
  readonly enabled: boolean;
}

export interface ManagedWebhook extends WebhookSettings {
  /** A bigint, as text. */
  readonly id: string;
  /** 22 of `[A-Za-z0-9]`, 128 random bits; a part of the ingress URL. */
  readonly uid: string;
  readonly factoryUid: string;
  readonly teamUid: string;
  /** Waits for the handshake that brings the secret, or for its confirmation by a user. */
  readonly secretPending: boolean;
  readonly source: WebhookSource;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** False while the secret of the sender is missing. */
  readonly hasSecret: boolean;
  /** Its managed secret was created for it alone. */
  readonly secretOwned: boolean;
  /** The encrypted secret of a handshake, until a user confirms it. */
  readonly sealedCapturedSecret: string | null;
  /** Version of the managed secret that senders have to use; null while it has no secret. */
  readonly secretVersion: number | null;
}

export interface DefinedWebhook extends WebhookSettings, Pick<ManagedWebhook, 'uid' | 'source' | 'secretVersion'> {
  /** Current version of the managed secret; null when it was deleted. */
  readonly managedSecretVersion: number | null;
}

/** An invalid setting; `detail` completes "`secretName` …". */
export interface WebhookSettingIssue {
  readonly field: keyof WebhookSettings;
  readonly detail: string;
}

/** The state of the webhook does not allow it; `reason` says what to do instead. */
export interface NotSupported {
  readonly kind: 'not_supported';
  readonly reason: string;
}
export const notSupported = (reason: string): NotSupported => ({ kind: 'not_supported', reason });

/** The URL that a sender posts to; it contains `token` in `url_token` mode only. */
export const ingressUrl = (
  origin: string,
  { uid, authMode }: Pick<ManagedWebhook, 'uid' | 'authMode'>,
  token: string,
): string => `${origin}/webhooks/w/${uid}${authMode === 'url_token' ? `/${token}` : ''}`;
