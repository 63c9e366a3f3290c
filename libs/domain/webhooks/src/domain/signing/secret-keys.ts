import { decodeStrictly } from './strict-encoding.js';

/** How the key is made of the secret that people copy from a sender. */
export interface KeyFormat {
  /** Null when the secret is none of this kind. */
  read(secret: string): Buffer | null;
  /** What to answer then; tells the form, never the secret. */
  readonly expected: string;
}

/** The characters themselves, whatever they look like. */
export const verbatimKey: KeyFormat = {
  read: (secret) => Buffer.from(secret, 'utf8'),
  expected: 'The secret is empty or blank.',
};

/** Base64, the prefix being no part of it and optional: senders show it with and without. */
export function base64Key(options: { prefix?: string; minBytes: number; maxBytes: number }): KeyFormat {
  const { prefix = '', minBytes, maxBytes } = options;
  const size = minBytes === maxBytes ? String(minBytes) : `${minBytes} to ${maxBytes}`;
  const optional = prefix === '' ? '' : `, with or without ${prefix} in front`;
  return {
    read: (secret) => {
      const bytes = decodeStrictly(secret.startsWith(prefix) ? secret.slice(prefix.length) : secret, 'base64');
      return bytes !== null && bytes.length >= minBytes && bytes.length <= maxBytes ? bytes : null;
    },
    expected: `The secret must be the base64 of ${size} bytes${optional}.`,
  };
}

export const standardWebhooksKey = base64Key({ prefix: 'whsec_', minBytes: 24, maxBytes: 64 });
