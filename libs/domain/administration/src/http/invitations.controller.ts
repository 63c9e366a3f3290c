import { Body, Controller, Delete, Get, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import {
  type AcceptedInvitation,
  Audited,
  auditSource,
  Authorize,
  type Caller,
  CONSOLE_HEADER,
  CurrentCaller,
  type Invitation,
  InvitationsService,
  invitationUrl,
  isSentByConsole,
  type Principal,
  SessionCookie,
  teamOf,
  TokenAuthenticator,
  UnauthorizedThrottle,
} from '#platform/auth';
import { AuditLog } from '#platform/audit';
import { Settings } from '#platform/config';
import {
  BodyLimit,
  limitReached,
  notFound,
  Operation,
  pathId,
  ProblemError,
  Public,
  SenderAddress,
} from '#platform/http';
import { PageCursors } from '#platform/kernel';
import { BrowserSignIns } from './browser-sign-ins.js';
import {
  AcceptInvitationRequest,
  CreateInvitationRequest,
  CreateInvitationResponse,
  InvitationItem,
  InvitationOffer,
  ListInvitationsResponse,
  LookUpInvitationRequest,
} from './dto/invitations.dto.js';
import { PageParameters } from './dto/principals.dto.js';
import { SessionItem } from './dto/sessions.dto.js';
import { pageOf } from './pages.js';
import { presentSession } from './presenters.js';
import { PUBLIC_BODY_LIMIT, SignInLimit } from './sign-in-limit.js';

const RESOURCE = 'invitation';
const EXAMPLE_CODE = 'hi_0000000000000000000000000000000000000000000';
const ConsoleHeader = (): MethodDecorator =>
  ApiHeader({
    name: CONSOLE_HEADER,
    required: true,
    description: 'Any value. Other sites cannot send it.',
    schema: { type: 'string' },
  });

@ApiTags('Administration')
@Controller('invitations')
export class InvitationsController {
  private readonly cursors: PageCursors;

  constructor(
    private readonly invitations: InvitationsService,
    private readonly signIns: BrowserSignIns,
    private readonly limit: SignInLimit,
    private readonly cookie: SessionCookie,
    private readonly authenticator: TokenAuthenticator,
    private readonly throttle: UnauthorizedThrottle,
    private readonly addresses: SenderAddress,
    private readonly audit: AuditLog,
    private readonly settings: Settings,
  ) {
    this.cursors = new PageCursors('invitations', settings);
  }

  @Get()
  @Authorize('members:manage')
  @Operation({
    id: 'listInvitations',
    summary: 'List invitations',
    description: 'Invitations to the team that can be accepted, by e-mail address, without their links.',
    team: true,
    success: { status: 200, description: 'A page of invitations.', type: ListInvitationsResponse },
    errors: [400, 403],
  })
  async list(@CurrentCaller() caller: Caller, @Query() page: PageParameters): Promise<ListInvitationsResponse> {
    const teamUid = teamOf(caller);
    const { items, page_info } = await pageOf(
      this.cursors,
      page,
      { teamUid },
      (after, limit) => this.invitations.list(teamUid, after?.[0] ?? null, limit),
      ({ email }) => [email],
    );
    return { invitations: items.map(present), page_info };
  }

  @Post()
  @Authorize('members:manage')
  @Audited('invitation.created', { values: ['email', 'role'] })
  @Operation({
    id: 'createInvitation',
    summary: 'Create an invitation',
    description:
      'The person opens the link, within seven days, and becomes a member of the team. Headrace sends no message: send the link to the person. Another invitation of the same address replaces the one before. Only owners can invite owners. A team has at most 100 open invitations.',
    team: true,
    request: { value: { email: 'ada@example.com', role: 'member' } },
    success: { status: 201, description: 'The invitation, with its link.', type: CreateInvitationResponse },
    errors: [400, 403, 'limit_reached', 404, 409],
  })
  async create(
    @CurrentCaller() caller: Caller,
    @Body() { email, role }: CreateInvitationRequest,
  ): Promise<CreateInvitationResponse> {
    const teamUid = teamOf(caller);
    const { principal } = caller;
    const { uid: createdBy, tokenUid } = principal;
    const result = await this.invitations.create({ teamUid, email, role, createdBy }, tokenUid);
    switch (result.kind) {
      case 'created':
        return { ...present(result.invitation), url: invitationUrl(this.settings, result.code) };
      case 'not_found':
        throw notFound('team');
      case 'forbidden':
        throw new ProblemError('not_authorized', 'Your role on the team does not allow this.');
      case 'owner_required':
        throw new ProblemError('not_authorized', '`role`: only owners of the team can invite owners.');
      case 'already_a_member':
        throw new ProblemError('conflict', 'A user with this `email` is a member of the team already.');
      case 'limit_reached':
        throw limitReached('A team', result.limit, 'open invitations');
    }
  }

  @Delete(':uid')
  @Authorize('members:manage')
  @Audited('invitation.revoked')
  @Operation({
    id: 'revokeInvitation',
    summary: 'Revoke an invitation',
    description: 'Its link is not valid any more.',
    team: true,
    success: { status: 204, description: 'Revoked.' },
  })
  async revoke(@CurrentCaller() caller: Caller, @Param('uid', pathId('uid')) uid: string): Promise<void> {
    if (!(await this.invitations.delete(teamOf(caller), uid))) throw notFound(RESOURCE);
  }

  @Post('lookup')
  @Public()
  @BodyLimit(PUBLIC_BODY_LIMIT)
  @Operation({
    id: 'lookUpInvitation',
    summary: 'Get an invitation by its code',
    description: 'What the page of the link shows. The invitation stays open.',
    security: 'none',
    request: { value: { code: EXAMPLE_CODE }, fill: 'code' },
    success: { status: 200, description: 'What the link offers.', type: InvitationOffer },
    errors: [400, 401, 'rate_limited'],
  })
  async lookUp(@Req() request: Request, @Body() { code }: LookUpInvitationRequest): Promise<InvitationOffer> {
    this.limit.note(request);
    const invitation = await this.invitations.find(code);
    if (!invitation) return this.reject(request);
    const { uid: _uid, created_at: _createdAt, ...offer } = present(invitation);
    return { team_name: invitation.teamName, ...offer };
  }

  @Post('accept')
  @Public()
  @BodyLimit(PUBLIC_BODY_LIMIT)
  @ConsoleHeader()
  @Operation({
    id: 'acceptInvitation',
    summary: 'Create a membership from an invitation',
    description: `Creates the user, who becomes a member of the team, and signs the browser in. A user who exists must be signed in with the e-mail address of the invitation; a member keeps the role. The request needs the header \`${CONSOLE_HEADER}\`.`,
    security: 'none',
    request: { value: { code: EXAMPLE_CODE, display_name: 'Ada' }, fill: 'code' },
    success: { status: 201, description: 'The session.', type: SessionItem, headers: { 'Set-Cookie': 'The session.' } },
    errors: [400, 401, 403, 'rate_limited'],
  })
  async accept(
    @Req() request: Request,
    @Body() { code, display_name: displayName }: AcceptInvitationRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<SessionItem> {
    this.limit.note(request);
    if (!isSentByConsole(request.headers))
      throw new ProblemError(
        'not_authorized',
        `The request must have the header \`${CONSOLE_HEADER}\`, and come from the same origin.`,
      );
    const signedInAs = await this.userOf(request);
    const result = await this.invitations.accept(code, displayName ?? null, signedInAs, this.signIns.originOf(request));
    if (result.kind === 'invalid') return this.reject(request);
    if (result.kind === 'sign_in_required')
      throw new ProblemError(
        'not_authorized',
        'If you have an account with this e-mail address, sign in first, and open the link again.',
      );
    await this.record(request, result);
    await this.signIns.complete(request, response, result.session);
    const { session } = result.session;
    return presentSession(session, session.uid);
  }

  private async userOf(request: Request): Promise<Principal | null> {
    const value = this.cookie.read(request);
    const principal = value === undefined ? 'missing' : await this.authenticator.authenticateSession(value);
    return typeof principal === 'string' ? null : principal;
  }

  private async record(request: Request, { invitation, userUid, isNewUser }: AcceptedInvitation): Promise<void> {
    const { uid, teamUid, email, role } = invitation;
    const entry = {
      actor: { type: 'user' as const, uid: userUid, name: email, token_uid: uid },
      source: auditSource(request, this.addresses),
    };
    if (isNewUser)
      await this.audit.append(null, {
        ...entry,
        action: 'user.created',
        target: { type: 'user', uid: userUid, name: email },
        details: { invitation_uid: uid },
      });
    await this.audit.append(teamUid, {
      ...entry,
      action: 'invitation.accepted',
      target: { type: 'invitation', uid, name: email },
      details: { role, user_uid: userUid },
    });
  }

  private async reject(request: Request): Promise<never> {
    await this.throttle.wait(request);
    throw new ProblemError(
      'authentication_required',
      '`code`: the link is unknown, was used or revoked already, or has expired.',
    );
  }
}

const present = (invitation: Invitation): InvitationItem => ({
  uid: invitation.uid,
  email: invitation.email,
  role: invitation.role,
  invited_by: invitation.createdBy.displayName,
  created_at: invitation.createdAt.toISOString(),
  expires_at: invitation.expiresAt.toISOString(),
});
