import { isStorableText } from '#platform/kernel';

/** What a managed secret may be called. */
export const SECRET_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
export const SECRET_NAME_RULE = '1 to 128 letters, digits, dots, underscores and hyphens, a letter or digit first';

/** Bytes of UTF-8. */
export const MAX_SECRET_BYTES = 65_536;

export const MAX_SECRETS_PER_TEAM = 1000;

/**
 * What a secret is for. Runs get those for runs: as variables, repository credentials and keys of agents. Webhooks check
 * senders with those for webhooks, which no run gets: whoever reads one can forge deliveries.
 */
export const SECRET_PURPOSES = ['run', 'webhook'] as const;
export type SecretPurpose = (typeof SECRET_PURPOSES)[number];

/** Names of the secrets that webhooks own. All of them are for webhooks; the table has a constraint that says so. */
export const WEBHOOK_SECRET_PREFIX = 'webhook-';

/** The metadata of a managed secret: everything but its value. */
export interface SecretRecord {
  readonly name: string;
  readonly purpose: SecretPurpose;
  /** From 1 on; moves with every value. */
  readonly version: number;
  readonly createdAt: Date;
  /** When it got its present value. */
  readonly updatedAt: Date;
}

/** Completes "`value` …", or null. */
export function valueFault(value: string): string | null {
  if (value === '') return 'must not be empty';
  if (Buffer.byteLength(value) > MAX_SECRET_BYTES) return `must not exceed ${MAX_SECRET_BYTES} bytes in UTF-8`;
  return isStorableText(value) ? null : 'must not contain NUL characters or lone surrogates';
}

/** Where the value lies: what it is sealed for. */
export const secretContext = (teamUid: string, name: string): string => `managed-secret/${teamUid}/${name}`;
