import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { edgeStateOf, ProblemError, RequestGate } from '#libs/http';
import { TokenAuthenticator } from '../application/token-authenticator.js';
import { TokenUsage } from '../application/token-usage.js';
import { rememberPrincipal } from './request-principal.js';

/** Authenticates by bearer token. Why a token is refused goes into the log; the caller sees one and the same 401. */
@Injectable()
export class BearerGate extends RequestGate {
  constructor(
    private readonly authenticator: TokenAuthenticator,
    private readonly usage: TokenUsage,
  ) {
    super();
  }

  override async admit(request: Request): Promise<void> {
    const principal = await this.authenticator.authenticate(request.headers.authorization);
    const state = edgeStateOf(request);
    if (typeof principal === 'string') {
      state.refusal = `token ${principal}`;
      throw unauthenticated();
    }
    rememberPrincipal(request, principal);
    state.tokenUid = principal.tokenUid;
    state.context.principal = principal.uid;
    this.usage.note(principal.tokenUid);
  }
}

export const unauthenticated = (): ProblemError =>
  new ProblemError('authentication_required', 'Send a valid token as `Authorization: Bearer <token>`.');
