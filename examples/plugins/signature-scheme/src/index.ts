import { Module } from '@nestjs/common';
import {
  Extension,
  type HandshakeAnswer,
  type IncomingRequest,
  Plugin,
  SignedScheme,
  withTimeHeader,
} from 'headrace/plugin';

const MAX_CHALLENGE = 256;

/** Before its first event the sender expects that its challenge is sent back. */
function answerChallenge(request: IncomingRequest): HandshakeAnswer | null {
  const { type, challenge } = (request.json() ?? {}) as { readonly type?: unknown; readonly challenge?: unknown };
  if (type !== 'verification' || typeof challenge !== 'string' || challenge.length > MAX_CHALLENGE) return null;
  return { status: 200, contentType: 'application/json', body: JSON.stringify({ challenge }) };
}

/** Signs `<time>.<body>` with HMAC-SHA256, and sends signature and time in headers. */
@Extension()
export class AcmeScheme extends SignedScheme {
  constructor() {
    super({
      id: 'acme',
      label: 'Acme',
      documentationUrl: 'https://acme.example/docs/webhooks',
      framings: [withTimeHeader('x-acme-signature', 'x-acme-time')],
      content: '{timestamp}.{body}',
      time: { unit: 's' },
      deliveryIdHeaders: ['x-acme-delivery'],
      handshake: answerChallenge,
    });
  }
}

/** The API needs it to create webhooks with this scheme, the ingress to verify their deliveries. */
@Plugin({
  name: 'example-signature-scheme',
  version: '1.0.0',
  headrace: '^0.2',
  processes: ['api', 'ingress'],
})
@Module({ providers: [AcmeScheme] })
export default class AcmeSchemePlugin {}
