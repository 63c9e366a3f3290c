import { Injectable } from '@nestjs/common';
import { Clock } from '#platform/kernel';
import { type AuthMode, type IncomingRequest, isSameText, SignatureSchemes } from '#domain/webhooks';
import type { IngressWebhook } from './ingress-webhooks.js';

/** Extension point: how a sender proves that it knows the secret of a webhook. Never throws, whatever the request contains. */
export interface IngressAuthMode {
  readonly mode: AuthMode;
  /** Value of `WWW-Authenticate` in a 401 response. */
  readonly challenge: string | null;
  /** `pathToken`: the path segment after the uid, null without one. */
  authenticate(request: IncomingRequest, pathToken: string | null, webhook: IngressWebhook): boolean;
}

/** `Authorization: Bearer <secret>`: the scheme in any case, and exactly one token. */
const BEARER = /^bearer +([^\s,]+)$/i;

@Injectable()
export class IngressAuthModes {
  private readonly byMode: ReadonlyMap<AuthMode, IngressAuthMode>;

  constructor(schemes: SignatureSchemes, clock: Clock) {
    const modes: readonly IngressAuthMode[] = [
      {
        mode: 'token',
        challenge: 'Bearer',
        authenticate: ({ headers }, _pathToken, { secret }) =>
          isSecret(BEARER.exec(headers.single('authorization') ?? '')?.[1] ?? '', secret),
      },
      {
        mode: 'url_token',
        challenge: null,
        authenticate: (_request, pathToken, { secret }) => isSecret(pathToken ?? '', secret),
      },
      {
        mode: 'signature',
        challenge: null,
        authenticate: (request, _pathToken, { schemeId, secret }) =>
          schemes.find(schemeId ?? '')?.verify(request, secret ?? '', clock.now()) ?? false,
      },
    ];
    this.byMode = new Map(modes.map((mode) => [mode.mode, mode]));
  }

  find(mode: AuthMode): IngressAuthMode | null {
    return this.byMode.get(mode) ?? null;
  }
}

/** An empty or blank secret matches nothing. */
const isSecret = (given: string, secret: string | null): boolean =>
  secret !== null && secret.trim() !== '' && given !== '' && isSameText(given, secret);
