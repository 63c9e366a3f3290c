import type { SchemeRow } from '../signed-scheme.js';
import { hmac } from '../signing-algorithm.js';

/** Senders whose signature lies in the body: it has to be parsed before anything is known about it. */
export const inBodySchemes: readonly SchemeRow[] = [
  {
    id: 'mailgun',
    label: 'Mailgun',
    documentationUrl: 'https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks',
    algorithm: hmac({ hash: 'sha256', encoding: 'hex' }),
    framings: [
      {
        signature: { path: ['signature', 'signature'] },
        timestamp: { path: ['signature', 'timestamp'] },
        id: { path: ['signature', 'token'] },
      },
    ],
    content: '{timestamp}{id}',
    time: { unit: 's' },
    bodyIsNotSigned: true,
    deliveryIdPath: ['signature', 'token'],
  },
];
