import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Request } from 'express';
import { ProblemError, RequestAuthenticator, RequestSlot, requestStateOf } from '#platform/http';
import { AccessChanges } from '../application/token-authenticator.js';
import type { Caller, Principal } from '../domain/principal.js';
import type { TokenRefusal } from '../domain/token.js';
import { TokenUsage } from '../application/token-usage.js';
import { RequestPrincipals } from './request-principals.js';
import { CONSOLE_HEADER, isFromConsole } from './session-cookie.js';
import { UnauthorizedThrottle } from './unauthorized-throttle.js';

export interface Authenticated {
  readonly principal: Principal;
  /** Of `performance.now()`, before the token was read. */
  readonly at: number;
  /** See {@link RequestPrincipals.generation}; before the token was read. */
  readonly generation: number;
}

const authenticated = new RequestSlot<Authenticated>('authenticated');
const callers = new RequestSlot<Caller>('caller');

export const authenticatedOf = (request: Request): Authenticated | undefined => authenticated.get(request);
export const principalOf = (request: Request): Principal | undefined => authenticatedOf(request)?.principal;
export const rememberCaller = (request: Request, caller: Caller): void => callers.set(request, caller);
export const callerOf = (request: Request): Caller | undefined => callers.get(request);

/** Authenticates by bearer token, or by the cookie of a session. The reason why one is not valid is only logged. */
@Injectable()
export class BearerAuthenticator extends RequestAuthenticator implements OnModuleInit, OnModuleDestroy {
  private unsubscribe: (() => void) | null = null;

  constructor(
    private readonly principals: RequestPrincipals,
    private readonly usage: TokenUsage,
    private readonly changes: AccessChanges,
    private readonly throttle: UnauthorizedThrottle,
  ) {
    super();
  }

  /** The subscription clears the cache of tokens. */
  onModuleInit(): void {
    this.unsubscribe = this.changes.subscribe(() => undefined);
  }

  onModuleDestroy(): void {
    this.unsubscribe?.();
  }

  override authenticate(request: Request): Promise<void> | null {
    const began = { at: performance.now(), generation: this.principals.generation };
    const cached = this.principals.cached(request);
    if (cached === undefined) return this.find(request, began);
    this.admit(request, { principal: cached, ...began });
    return null;
  }

  private async find(request: Request, began: Omit<Authenticated, 'principal'>): Promise<void> {
    const principal = await this.principalOf(request);
    if (typeof principal !== 'string') return this.admit(request, { principal, ...began });
    requestStateOf(request).rejection = `token ${principal}`;
    await this.throttle.wait(request);
    throw unauthenticated(principal);
  }

  private admit(request: Request, found: Authenticated): void {
    const { uid, tokenUid } = found.principal;
    const state = requestStateOf(request);
    authenticated.set(request, found);
    state.tokenUid = tokenUid;
    state.context.principal = uid;
    this.usage.note(tokenUid);
  }

  private async principalOf(request: Request): Promise<Principal | TokenRefusal> {
    const principal = await this.principals.of(request);
    const hasCookie = this.principals.sessionOf(request) !== undefined;
    if (typeof principal !== 'string' && hasCookie && !isFromConsole(request))
      throw new ProblemError(
        'not_authorized',
        `A request with a session cookie must have the header \`${CONSOLE_HEADER}\`, and come from the same origin.`,
      );
    return principal;
  }
}

/** Explains how to send a token; what is wrong with a token that was sent is not disclosed. */
export function unauthenticated(refusal: TokenRefusal = 'missing'): ProblemError {
  return new ProblemError('authentication_required', detailOf(refusal));
}

function detailOf(refusal: TokenRefusal): string {
  switch (refusal) {
    case 'missing':
      return 'The request has no token. Send one as `Authorization: Bearer <token>`.';
    case 'no_bearer':
      return 'The Authorization header has no `Bearer` before the token. Send it as `Authorization: Bearer <token>`.';
    case 'malformed':
    case 'unknown':
    case 'expired':
    case 'revoked':
      return 'The token is not valid: it is unknown, has expired or was revoked.';
  }
}
