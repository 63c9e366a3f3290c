import { isStorableText } from '#platform/kernel';
import { encryptedColumn } from '../encrypted-column.js';

export const SECRET_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
export const SECRET_NAME_RULE = '1 to 128 letters, digits, dots, underscores and hyphens, a letter or digit first';

/** Bytes of UTF-8. */
export const MAX_SECRET_BYTES = 65_536;

export const MAX_SECRETS_PER_TEAM = 1000;

/**
 * What a secret is for. Runs receive secrets for runs: as variables, repository credentials and keys of agents. Webhooks
 * authenticate senders with secrets for webhooks, which no run receives: a run that reads one could forge deliveries.
 */
export const SECRET_PURPOSES = ['run', 'webhook'] as const;
export type SecretPurpose = (typeof SECRET_PURPOSES)[number];

/** Names of the secrets that webhooks own. All of them are for webhooks; a constraint of the table ensures it. */
export const WEBHOOK_SECRET_PREFIX = 'webhook-';

/** A managed secret without its value. */
export interface SecretRecord {
  readonly name: string;
  readonly purpose: SecretPurpose;
  /** Starts at 1 and increases with every new value. */
  readonly version: number;
  readonly createdAt: Date;
  /** When the current value was stored. */
  readonly updatedAt: Date;
}

/** The rule that a value breaks, which completes "`value` …"; or null. */
export function brokenValueRule(value: string): string | null {
  if (value === '') return 'must not be empty';
  if (Buffer.byteLength(value) > MAX_SECRET_BYTES) return `must not exceed ${MAX_SECRET_BYTES} bytes in UTF-8`;
  return isStorableText(value) ? null : 'must not contain NUL characters or lone surrogates';
}

export const MANAGED_SECRET = encryptedColumn({
  table: 'managed_secrets',
  key: { column: 'id', type: 'bigint' },
  context: ['team_uid', 'name'],
  column: 'sealed',
  purpose: ({ team_uid, name }) => `managed-secret/${team_uid}/${name}`,
});
