import { Injectable } from '@nestjs/common';
import { Clock } from '#platform/kernel';
import { type AuthMode, type IncomingRequest, isSameText, SignatureSchemes } from '#domain/webhooks';
import type { IngressWebhook } from './ingress-webhooks.js';

/** Extension point: how a sender proves that it knows the secret of a webhook. Never throws, whatever the request contains. */
export interface IngressAuthMode {
  /** Value of `WWW-Authenticate` in a 401 response. */
  readonly challenge: string | null;
  /** `pathToken`: the path segment after the uid, null without one. */
  authenticate(request: IncomingRequest, pathToken: string | null, webhook: IngressWebhook): boolean;
}

/** `Authorization: Bearer <secret>`: the scheme in any case, and exactly one token. */
const BEARER = /^bearer +([^\s,]+)$/i;

@Injectable()
export class IngressAuthModes {
  private readonly modes: ReadonlyMap<string, IngressAuthMode>;

  constructor(schemes: SignatureSchemes, clock: Clock) {
    const modes: Readonly<Record<AuthMode, IngressAuthMode>> = {
      token: {
        challenge: 'Bearer',
        authenticate: ({ headers }, _pathToken, { secret }) =>
          isSecret(BEARER.exec(headers.single('authorization') ?? '')?.[1] ?? '', secret),
      },
      url_token: {
        challenge: null,
        authenticate: (_request, pathToken, { secret }) => isSecret(pathToken ?? '', secret),
      },
      signature: {
        challenge: null,
        authenticate: (request, _pathToken, { schemeId, secret }) =>
          schemes.find(schemeId ?? '')?.verify(request, secret ?? '', clock.now()) ?? false,
      },
    };
    this.modes = new Map(Object.entries(modes));
  }

  find(mode: AuthMode): IngressAuthMode | null {
    return this.modes.get(mode) ?? null;
  }
}

/** An empty or blank secret matches nothing. */
const isSecret = (given: string, secret: string | null): boolean =>
  secret !== null && secret.trim() !== '' && given !== '' && isSameText(given, secret);
