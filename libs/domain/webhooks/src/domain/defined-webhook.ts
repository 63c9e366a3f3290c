import type { AuthMode, WebhookSource } from './webhook.js';

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
