import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { ACCESS, type Access, headerText, ProblemError, TEAM_HEADER, TEAM_HEADER_ALIAS } from '#platform/http';
import { TOKEN_CACHE_MS } from '../application/token-authenticator.js';
import { type Principal, roleIn, selectTeams } from '../domain/principal.js';
import { can, isPermission } from '../domain/roles.js';
import { INSTALLATION, TEAM } from './authorize.js';
import { type Authenticated, authenticatedOf, rememberCaller, unauthenticated } from './bearer-authenticator.js';
import { RequestPrincipals } from './request-principals.js';

/** Decides the permission on the chosen team only: see `Authorize`. A route without a declaration is closed. */
@Injectable()
export class AuthorizeGuard implements CanActivate {
  /** By handler. */
  private readonly declared = new WeakMap<object, Access>();

  constructor(
    private readonly reflector: Reflector,
    private readonly principals: RequestPrincipals,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const access = this.accessOf(context);
    if (access?.kind === 'public' || access?.kind === 'runner') return true;
    const request = context.switchToHttp().getRequest<Request>();
    const authenticated = authenticatedOf(request);
    if (!authenticated || !access) throw unauthenticated();
    return this.isOutdated(authenticated)
      ? this.principalAgain(request).then((principal) => this.decide(request, principal, access))
      : this.decide(request, authenticated.principal, access);
  }

  private accessOf(context: ExecutionContext): Access | undefined {
    const handler = context.getHandler();
    const known = this.declared.get(handler);
    if (known !== undefined) return known;
    const access = this.reflector.get<Access | undefined>(ACCESS, handler);
    // A handler without a declaration has that of its controller, and controllers inherit handlers.
    if (access === undefined) return this.reflector.get<Access | undefined>(ACCESS, context.getClass());
    this.declared.set(handler, access);
    return access;
  }

  /** Throws a ProblemError when the principal may not. */
  private decide(request: Request, principal: Principal, access: Exclude<Access, { kind: 'public' | 'runner' }>): true {
    const chosen = teamHeader(request);
    const teams = selectTeams(principal, chosen);
    if (!teams && chosen !== undefined && isAdministered(principal, access)) {
      rememberCaller(request, { principal, permission: 'members:manage', teamUid: chosen, teamUids: [chosen] });
      return true;
    }
    if (!teams) throw new ProblemError('not_authorized', `You are not a member of the team that ${TEAM_HEADER} names.`);
    if (access.kind === 'authenticated') return true;
    const { permission, resource } = access;
    if (!isPermission(permission)) throw new Error(`There is no permission ${permission}.`);
    if (resource === INSTALLATION && principal.isAdministrator !== true)
      throw new ProblemError('not_authorized', 'Only administrators of the installation may do this.');
    const permitted = principal.memberships.filter(({ role }) => can(role, permission)).map(({ teamUid }) => teamUid);
    const { teamUid } = teams;
    if (resource === TEAM && teamUid !== null && !permitted.includes(teamUid))
      throw new ProblemError(
        'not_authorized',
        `Your role on the team, ${roleIn(principal, teamUid)}, does not allow this.`,
      );
    // An operation on no chosen team covers those teams of the caller on which it is permitted.
    const teamUids = resource === TEAM ? teams.teamUids.filter((uid) => permitted.includes(uid)) : teams.teamUids;
    rememberCaller(request, { principal, permission, teamUid, teamUids });
    return true;
  }

  /** The token may have been revoked, or a role changed, while the client sent the body. */
  private isOutdated({ at, generation }: Authenticated): boolean {
    return generation !== this.principals.generation || performance.now() - at > TOKEN_CACHE_MS;
  }

  private async principalAgain(request: Request): Promise<Principal> {
    const principal = await this.principals.of(request);
    if (typeof principal === 'string') throw unauthenticated(principal);
    return principal;
  }
}

/** Administrators of the installation manage the members of all teams: those of a team may have lost their last owner. */
const isAdministered = ({ isAdministrator }: Principal, access: Access): boolean =>
  isAdministrator === true && access.kind === 'permission' && access.permission.startsWith('members:');

/** Our header wins over its alias; a blank one counts as absent. */
function teamHeader({ headers }: Request): string | undefined {
  return [TEAM_HEADER, TEAM_HEADER_ALIAS]
    .map((name) => headerText(headers[name.toLowerCase()])?.trim())
    .find((value) => value !== undefined && value !== '');
}
