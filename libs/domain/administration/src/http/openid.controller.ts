import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import {
  AttemptLimit,
  auditSource,
  OpenIdCookie,
  OpenIdProvider,
  type OpenIdRejection,
  type OpenIdSignIn,
  OpenIdSignInService,
  SessionsService,
} from '#platform/auth';
import { type AuditEvent, AuditLog } from '#platform/audit';
import { Settings } from '#platform/config';
import { ProblemError, Public, SenderAddress, senderOf } from '#platform/http';
import { Clock } from '#platform/kernel';
import { BrowserSignIns } from './browser-sign-ins.js';

/** Sign-ins that one address can start; each is a row until it expires. */
const MAX_STARTED = 300;
const WINDOW_MS = 10 * 60_000;

/** Pages of the browser, which is sent to the OpenID provider and returns from it: no operations for clients. */
@ApiExcludeController()
@Controller('sign-in/openid')
export class OpenIdController {
  private readonly started: AttemptLimit;

  constructor(
    private readonly signIn: OpenIdSignInService,
    private readonly provider: OpenIdProvider,
    private readonly cookie: OpenIdCookie,
    private readonly browsers: BrowserSignIns,
    private readonly sessions: SessionsService,
    private readonly addresses: SenderAddress,
    private readonly settings: Settings,
    private readonly audit: AuditLog,
    clock: Clock,
  ) {
    this.started = new AttemptLimit(MAX_STARTED, WINDOW_MS, clock);
  }

  @Get()
  @Public()
  async start(
    @Req() request: Request,
    @Res() response: Response,
    @Query('return_to') returnTo: unknown,
  ): Promise<void> {
    this.assertConfigured();
    // Another site must not replace the session of the user; it can lead to the sign-in page.
    const site = request.headers['sec-fetch-site'] ?? 'none';
    if (site !== 'none' && site !== 'same-origin') return this.toConsole(response, {});
    const sender = senderOf(this.addresses.of(request));
    if (this.started.waitSeconds(sender) > 0) return this.toConsole(response, { error: 'too_many' });
    this.started.note(sender);
    const started = await this.signIn.start(returnTo, await this.browsers.currentSession(request));
    if (started === 'unreachable') return this.toConsole(response, { error: started });
    this.cookie.set(response, started.cookie);
    response.redirect(302, started.url.href);
  }

  @Get('callback')
  @Public()
  async complete(@Req() request: Request, @Res() response: Response): Promise<void> {
    this.assertConfigured();
    const [, query = ''] = request.originalUrl.split(/\?(.*)/s);
    const result = await this.signIn.complete(this.cookie.read(request), query, this.browsers.originOf(request));
    if (result.kind === 'expired') return this.toConsole(response, { error: result.kind });
    this.cookie.clear(response);
    if (result.kind !== 'signed_in') return this.toConsole(response, { error: result.kind });
    const { created, identity, earlierSessionUid, returnTo } = result;
    if (earlierSessionUid !== null) await this.sessions.revoke(earlierSessionUid);
    await this.recordChanges(request, result);
    await this.browsers.complete(request, response, created, { issuer: identity.issuer, subject: identity.subject });
    this.toConsole(response, { signed_in: '1', return_to: returnTo });
  }

  private assertConfigured(): void {
    if (!this.provider.isConfigured)
      throw new ProblemError(
        'resource_not_found',
        'Sign-in by OpenID Connect is not configured: OIDC_ISSUER is not set.',
      );
  }

  /** The page shows the meaning of `error`; no text of the provider is part of the address. */
  private toConsole(
    response: Response,
    parameters: {
      readonly error?: OpenIdRejection | 'too_many';
      readonly signed_in?: '1';
      readonly return_to?: string;
    },
  ): void {
    const query = new URLSearchParams(parameters).toString();
    response.redirect(302, `${this.settings.publicUrl}/console/sign-in${query === '' ? '' : `?${query}`}`);
  }

  /** What the provider has caused, besides the session itself. */
  private async recordChanges(request: Request, { created, userChange, groupChanges }: OpenIdSignIn): Promise<void> {
    const { userUid: uid } = created.session;
    const source = auditSource(request, this.addresses);
    const actor: AuditEvent['actor'] = { type: 'system', name: this.settings.oidcName };
    if (userChange !== null)
      await this.audit.append(null, { action: `user.${userChange}`, actor, target: { type: 'user', uid }, source });
    for (const { teamUid, role } of groupChanges)
      await this.audit.append(teamUid, {
        action: role === null ? 'member.deleted' : 'member.updated',
        actor,
        target: { type: 'member', uid },
        source,
        details: { from_groups: true, ...(role !== null && { role }) },
      });
  }
}
