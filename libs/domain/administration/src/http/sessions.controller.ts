import { Body, Controller, Delete, Get, Param, Post, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import {
  allowAsAdministrator,
  Audited,
  Authorize,
  type Caller,
  CONSOLE_HEADER,
  CurrentCaller,
  isAllowed,
  isSentByConsole,
  loginUrl,
  MAX_SESSIONS,
  SessionCookie,
  SessionsService,
  TokenAuthenticator,
  UnauthorizedThrottle,
} from '#platform/auth';
import { Settings } from '#platform/config';
import { BodyLimit, forbidden, invalidInput, notFound, Operation, pathId, ProblemError, Public } from '#platform/http';
import { BrowserSignIns } from './browser-sign-ins.js';
import {
  CreateLoginLinkRequest,
  CreateSessionRequest,
  ListSessionsResponse,
  LoginLink,
  SessionItem,
} from './dto/sessions.dto.js';
import { presentSession } from './presenters.js';
import { PUBLIC_BODY_LIMIT, SignInLimit } from './sign-in-limit.js';

const RESOURCE = 'session';

@ApiTags('Administration')
@Controller()
export class SessionsController {
  constructor(
    private readonly sessions: SessionsService,
    private readonly cookie: SessionCookie,
    private readonly authenticator: TokenAuthenticator,
    private readonly throttle: UnauthorizedThrottle,
    private readonly settings: Settings,
    private readonly signIns: BrowserSignIns,
    private readonly limit: SignInLimit,
  ) {}

  @Post('sessions')
  @Public()
  @BodyLimit(PUBLIC_BODY_LIMIT)
  @ApiHeader({
    name: CONSOLE_HEADER,
    required: true,
    description: 'Any value. Other sites cannot send it.',
    schema: { type: 'string' },
  })
  @Operation({
    id: 'createSession',
    summary: 'Create a session of a browser',
    security: 'none',
    description: `Signs a browser in: the session is in a cookie that scripts cannot read. The request needs the header \`${CONSOLE_HEADER}\` and either \`login_code\` or \`token\`. With the cookie instead of a token, all requests that change something need this header.`,
    request: { value: { login_code: 'hl_0000000000000000000000000000000000000000000' }, fill: 'login_code' },
    success: { status: 201, description: 'The session.', type: SessionItem, headers: { 'Set-Cookie': 'The session.' } },
    errors: [400, 401, 403, 'rate_limited'],
  })
  async create(
    @Req() request: Request,
    @Body() { login_code: code, token }: CreateSessionRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<SessionItem> {
    this.limit.note(request);
    if (!isSentByConsole(request.headers))
      throw new ProblemError(
        'not_authorized',
        `The request must have the header \`${CONSOLE_HEADER}\`, and come from the same origin.`,
      );
    if ((code === undefined) === (token === undefined))
      throw invalidInput([{ pointer: '/login_code', detail: 'exactly one of `login_code` and `token` is required' }]);
    const created =
      code === undefined ? await this.fromToken(token ?? '', request) : await this.fromCode(code, request);
    await this.signIns.complete(request, response, created);
    return presentSession(created.session, created.session.uid);
  }

  @Get('sessions')
  @Authorize('tokens:manage', RESOURCE)
  @Operation({
    id: 'listSessions',
    summary: 'List sessions of browsers',
    description: 'Where you are signed in.',
    success: { status: 200, description: 'The sessions.', type: ListSessionsResponse },
    errors: [403],
  })
  async list(@CurrentCaller() caller: Caller): Promise<ListSessionsResponse> {
    const { uid, tokenUid } = caller.principal;
    if (!isAllowed(caller, { teamUid: null, userUid: uid })) throw forbidden(RESOURCE);
    const sessions = await this.sessions.list(uid, MAX_SESSIONS);
    return { sessions: sessions.map((session) => presentSession(session, tokenUid)) };
  }

  @Delete('sessions/current')
  @Authorize('tokens:manage', RESOURCE)
  @Operation({
    id: 'deleteCurrentSession',
    summary: 'Delete the current session of a browser',
    description: 'Signs the browser out. The cookie is removed.',
    success: { status: 204, description: 'Signed out.' },
    errors: [403],
  })
  async deleteCurrent(@CurrentCaller() caller: Caller, @Res({ passthrough: true }) response: Response): Promise<void> {
    if (!isAllowed(caller, { teamUid: null, userUid: caller.principal.uid })) throw forbidden(RESOURCE);
    await this.sessions.revoke(caller.principal.tokenUid);
    this.cookie.clear(response);
  }

  @Delete('sessions/:uid')
  @Authorize('tokens:manage', RESOURCE)
  @Audited('session.revoked')
  @Operation({
    id: 'deleteSession',
    summary: 'Delete a session of a browser',
    description: 'Signs that browser out at once. Administrators of the installation can do this for all users.',
    success: { status: 204, description: 'Signed out.' },
  })
  async delete(@CurrentCaller() caller: Caller, @Param('uid', pathId('uid')) uid: string): Promise<void> {
    const session = await this.sessions.find(uid);
    if (!session) throw notFound(RESOURCE);
    if (!isAllowed(caller, { teamUid: null, userUid: session.userUid }) && !allowAsAdministrator(caller))
      throw forbidden(RESOURCE);
    await this.sessions.revoke(uid);
  }

  @Post('login-links')
  @Authorize('tokens:manage', RESOURCE)
  @Audited('login_link.created', { values: ['user_uid'] })
  @Operation({
    id: 'createLoginLink',
    summary: 'Create a link to sign in',
    description:
      'Opens the console as you, or as another user. It can be used once, within fifteen minutes. A user has at most ten links that were not used: with another one, the oldest is not valid any more.',
    request: { value: {} },
    success: { status: 201, description: 'The link.', type: LoginLink },
    errors: [400, 403, 404],
  })
  async createLoginLink(@CurrentCaller() caller: Caller, @Body() body: CreateLoginLinkRequest): Promise<LoginLink> {
    const { user_uid: userUid = caller.principal.uid } = body;
    if (!isAllowed(caller, { teamUid: null, userUid }) && !allowAsAdministrator(caller)) throw forbidden('user');
    const created = await this.sessions.createLoginCode(userUid, caller.principal.tokenUid);
    if (!created) throw notFound('user');
    const { uid, code, expiresAt } = created;
    return { uid, url: loginUrl(this.settings, code), expires_at: expiresAt.toISOString() };
  }

  private async fromCode(code: string, request: Request) {
    const created = await this.sessions.redeemLoginCode(code, this.signIns.originOf(request));
    if (created) return created;
    return this.reject(request, '`login_code`: the link is unknown, was used already, or has expired.');
  }

  private async fromToken(token: string, request: Request) {
    const principal = await this.authenticator.authenticate(`Bearer ${token}`);
    if (typeof principal === 'string') return this.reject(request, '`token`: the token is not valid.');
    if (principal.type !== 'user')
      throw invalidInput([{ pointer: '/token', detail: 'must be the token of a user, not of a service account' }]);
    const created = await this.sessions.create(principal, this.signIns.originOf(request));
    return created ?? this.reject(request, '`token`: the token is not valid.');
  }

  private async reject(request: Request, detail: string): Promise<never> {
    await this.throttle.wait(request);
    throw new ProblemError('authentication_required', detail);
  }
}
