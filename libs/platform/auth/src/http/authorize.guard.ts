import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { ACCESS, type Access, headerText, ProblemError, TEAM_HEADER, TEAM_HEADER_ALIAS } from '#platform/http';
import { resolveCaller, roleIn } from '../domain/principal.js';
import { can, type Permission, PERMISSIONS } from '../domain/roles.js';
import { unauthenticated } from './bearer-authenticator.js';
import { principalOf, rememberCaller } from './request-principal.js';

/** Decides the permission of a route on the chosen team. A route without a declaration is closed. */
@Injectable()
export class AuthorizeGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const access = this.reflector.getAllAndOverride<Access | undefined>(ACCESS, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (access?.kind === 'public' || access?.kind === 'runner') return true;
    const request = context.switchToHttp().getRequest<Request>();
    const principal = principalOf(request);
    if (!principal || !access) throw unauthenticated();
    const caller = resolveCaller(principal, teamHeader(request));
    if (!caller)
      throw new ProblemError('not_authorized', `You are not a member of the team that ${TEAM_HEADER} names.`);
    const role = caller.teamUid === null ? null : roleIn(principal, caller.teamUid);
    if (role !== null && !(isPermission(access.permission) && can(role, access.permission)))
      throw new ProblemError('not_authorized', `Your role on the team, ${role}, does not allow this.`);
    rememberCaller(request, caller);
    return true;
  }
}

/** Our header wins over its alias; a blank one counts as absent. */
function teamHeader({ headers }: Request): string | undefined {
  return [TEAM_HEADER, TEAM_HEADER_ALIAS]
    .map((name) => headerText(headers[name.toLowerCase()])?.trim())
    .find((value) => value !== undefined && value !== '');
}

const isPermission = (value: string): value is Permission => (PERMISSIONS as readonly string[]).includes(value);
