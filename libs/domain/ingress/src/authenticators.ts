import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '#platform/kernel';
import {
  type BuiltInAuthMode,
  type IncomingRequest,
  IngressAuthModes,
  isSameText,
  SignatureSchemes,
} from '#domain/webhooks';
import type { IngressWebhook } from './ingress-webhooks.js';

/** How the senders of webhooks of one mode are authenticated. Never throws, whatever the request contains. */
export interface Authenticator {
  /** Value of `WWW-Authenticate` in a 401 response. */
  readonly challenge: string | null;
  /** `pathToken`: the path segment after the uid, null without one. */
  authenticate(request: IncomingRequest, pathToken: string | null, webhook: IngressWebhook): boolean;
}

/** `Authorization: Bearer <secret>`: the scheme in any case, and exactly one token. */
const BEARER = /^bearer +([^\s,]+)$/i;

@Injectable()
export class Authenticators {
  private readonly logger = new Logger(Authenticators.name);
  private readonly builtIn: ReadonlyMap<string, Authenticator>;

  constructor(
    schemes: SignatureSchemes,
    clock: Clock,
    private readonly modes: IngressAuthModes,
  ) {
    const builtIn: Readonly<Record<BuiltInAuthMode, Authenticator>> = {
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
          this.isTrue(schemeId, () => schemes.find(schemeId ?? '')?.verify(request, secret ?? '', clock.now())),
      },
    };
    this.builtIn = new Map(Object.entries(builtIn));
  }

  /** Null for a mode that this process does not know: nothing is authentic. */
  find(mode: string): Authenticator | null {
    const builtIn = this.builtIn.get(mode);
    if (builtIn) return builtIn;
    const added = this.modes.find(mode);
    return (
      added && {
        challenge: added.challenge,
        authenticate: (request, _pathToken, { secret }) =>
          secret !== null && secret.trim() !== '' && this.isTrue(mode, () => added.authenticate(request, secret)),
      }
    );
  }

  /** Code of a plugin may throw, or return a promise: then nothing is authentic. Its message may contain the secret. */
  private isTrue(name: string | null, check: () => unknown): boolean {
    try {
      return check() === true;
    } catch (error) {
      this.logger.error(`The authentication ${name ?? ''} failed: ${error instanceof Error ? error.name : 'fault'}.`);
      return false;
    }
  }
}

/** An empty or blank secret matches nothing. */
const isSecret = (given: string, secret: string | null): boolean =>
  secret !== null && secret.trim() !== '' && given !== '' && isSameText(given, secret);
