import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { TokenAuthenticator } from '../application/token-authenticator.js';
import type { Principal } from '../domain/principal.js';
import type { TokenRefusal } from '../domain/token.js';
import { SessionCookie } from './session-cookie.js';

/** The principal of a request; also again later, for connections that are open longer than their request. */
@Injectable()
export class RequestPrincipals {
  constructor(
    private readonly authenticator: TokenAuthenticator,
    private readonly cookie: SessionCookie,
  ) {}

  /** See {@link TokenAuthenticator.generation}. */
  get generation(): number {
    return this.authenticator.generation;
  }

  /** A token wins over a cookie, which browsers add by themselves. */
  of(request: IncomingMessage): Promise<Principal | TokenRefusal> {
    const { authorization } = request.headers;
    const session = this.sessionOf(request);
    return session === undefined
      ? this.authenticator.authenticate(authorization)
      : this.authenticator.authenticateSession(session);
  }

  /** Of a request whose token was authenticated within the last second. Undefined: {@link of} decides. */
  cached({ headers }: IncomingMessage): Principal | undefined {
    return this.authenticator.cached(headers.authorization);
  }

  /** The value of the cookie that authenticates the request; undefined: a token does, or nothing. */
  sessionOf(request: IncomingMessage): string | undefined {
    return request.headers.authorization === undefined ? this.cookie.read(request) : undefined;
  }
}
