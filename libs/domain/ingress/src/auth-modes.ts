import { createHash, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Clock } from '#platform/kernel';
import { type AuthMode, type IncomingRequest, SignatureSchemes } from '#domain/webhooks';
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

export const tokenMode: IngressAuthMode = {
  mode: 'token',
  challenge: 'Bearer',
  authenticate: ({ headers }, _pathToken, { secret }) =>
    isSecret(BEARER.exec(headers.single('authorization') ?? '')?.[1] ?? '', secret),
};

export const urlTokenMode: IngressAuthMode = {
  mode: 'url_token',
  challenge: null,
  authenticate: (_request, pathToken, { secret }) => isSecret(pathToken ?? '', secret),
};

export function signatureMode(schemes: SignatureSchemes, clock: Clock): IngressAuthMode {
  return {
    mode: 'signature',
    challenge: null,
    authenticate: (request, _pathToken, { schemeId, secret }) => {
      const scheme = schemes.find(schemeId ?? '');
      if (scheme === null || secret === null || secret.trim() === '') return false;
      return scheme.verify(request, secret, clock.now());
    },
  };
}

/** The registered modes. A webhook of another mode rejects every delivery. */
@Injectable()
export class IngressAuthModes {
  private readonly byMode: ReadonlyMap<AuthMode, IngressAuthMode>;

  constructor(schemes: SignatureSchemes, clock: Clock) {
    const modes = [tokenMode, urlTokenMode, signatureMode(schemes, clock)];
    this.byMode = new Map(modes.map((mode) => [mode.mode, mode]));
  }

  find(mode: AuthMode): IngressAuthMode | null {
    return this.byMode.get(mode) ?? null;
  }
}

/** In constant time for all lengths, because digests are compared. An empty or blank secret matches nothing. */
function isSecret(given: string, secret: string | null): boolean {
  if (secret === null || secret.trim() === '' || given === '') return false;
  return timingSafeEqual(digest(given), digest(secret));
}

const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();
