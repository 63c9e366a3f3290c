import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import {
  auditSource,
  type CreatedSession,
  type Session,
  SessionCookie,
  type SessionOrigin,
  SessionsService,
  TokenAuthenticator,
} from '#platform/auth';
import { AuditLog } from '#platform/audit';
import { SenderAddress } from '#platform/http';

/** What every way to sign in a browser has in common. */
@Injectable()
export class BrowserSignIns {
  constructor(
    private readonly sessions: SessionsService,
    private readonly cookie: SessionCookie,
    private readonly authenticator: TokenAuthenticator,
    private readonly addresses: SenderAddress,
    private readonly audit: AuditLog,
  ) {}

  originOf(request: Request): SessionOrigin {
    const { address, user_agent: userAgent = null } = auditSource(request, this.addresses);
    return { address, userAgent };
  }

  /** UID of the session that the browser has; null: it has none. */
  async currentSession(request: Request): Promise<string | null> {
    const value = this.cookie.read(request);
    const principal = value === undefined ? 'missing' : await this.authenticator.authenticateSession(value);
    return typeof principal === 'string' ? null : principal.tokenUid;
  }

  /** A browser has one session: the one before ends, and its cookie is replaced. */
  async complete(
    request: Request,
    response: Response,
    { session, value }: CreatedSession,
    details: Readonly<Record<string, unknown>> = {},
  ): Promise<void> {
    const earlier = await this.currentSession(request);
    if (earlier !== null) await this.sessions.revoke(earlier);
    await this.record(request, session, details);
    this.cookie.set(response, value);
  }

  private async record(
    request: Request,
    { uid, userUid, createdWith, method }: Session,
    details: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    await this.audit.append(null, {
      action: 'session.created',
      actor: { type: 'user', uid: userUid, ...(createdWith !== null && { token_uid: createdWith }) },
      target: { type: 'session', uid },
      source: auditSource(request, this.addresses),
      details: { method, ...details },
    });
  }
}
