import { createHash, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Clock } from '#platform/kernel';
import type { IncomingRequest } from '#domain/webhooks';
import { SignatureSchemes } from '#domain/webhooks';
import type { AuthMode } from '#domain/webhooks';
import type { IngressWebhook } from './ingress-webhook.js';

/** Plug: one way in which a sender shows that it knows a webhook's secret. Never throws on what a sender sent. */
export interface IngressAuthMode {
  readonly mode: AuthMode;
  /** Sent with a 401. */
  readonly challenge: string | null;
  /** `pathToken`: the segment after the uid, null without one. */
  authenticate(request: IncomingRequest, pathToken: string | null, webhook: IngressWebhook): boolean;
}

/** `Authorization: Bearer <secret>`: the scheme in any case, one token, nothing behind it. */
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

/** The modes that an installation knows. A mode that is not among them refuses. */
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

/** In constant time, whatever the lengths: digests are compared. An empty or blank secret is nobody's. */
function isSecret(given: string, secret: string | null): boolean {
  if (secret === null || secret.trim() === '' || given === '') return false;
  return timingSafeEqual(digest(given), digest(secret));
}

const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();
