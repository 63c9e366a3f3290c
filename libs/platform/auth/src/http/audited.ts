import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  Injectable,
  Logger,
  type NestInterceptor,
  SetMetadata,
  UseInterceptors,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { mergeMap, type Observable } from 'rxjs';
import { type AuditEvent, AuditLog, type AuditSource, type AuditTarget } from '#platform/audit';
import { runInContext } from '#platform/observability';
import { AUDITED_ACTION, requestStateOf, SenderAddress } from '#platform/http';
import { decidedOwner } from '../domain/owner.js';
import type { Principal } from '../domain/principal.js';
import { INSTALLATION } from './authorize.js';
import { callerOf, principalOf } from './bearer-authenticator.js';

export interface AuditOptions {
  /** Fields of the body whose values are logged; of all others only the names are. */
  readonly values?: readonly string[];
}

const AUDIT_OPTIONS = Symbol('headrace:audit-options');
const MAX_TEXT = 256;

/** The audit log records the operation when it has succeeded. `action`: `<resource>.<verb in the past tense>`. */
export const Audited = (action: `${string}.${string}`, options: AuditOptions = {}) =>
  applyDecorators(
    SetMetadata(AUDITED_ACTION, action),
    SetMetadata(AUDIT_OPTIONS, options),
    UseInterceptors(AuditInterceptor),
  );

/**
 * Appends the entry after the operation has committed and before its response. An entry that cannot be written fails the
 * request and is logged: see ADR 0046.
 */
@Injectable()
export class AuditInterceptor implements NestInterceptor {
  private readonly logger = new Logger(AuditInterceptor.name);

  constructor(
    private readonly log: AuditLog,
    private readonly reflector: Reflector,
    private readonly addresses: SenderAddress,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<Request>();
    const action = this.reflector.get<string>(AUDITED_ACTION, context.getHandler());
    const options = this.reflector.get<AuditOptions>(AUDIT_OPTIONS, context.getHandler());
    return next.handle().pipe(
      mergeMap(async (result: unknown) => {
        const principal = principalOf(request);
        if (!principal) throw new Error(`${action} was executed without a principal.`);
        await this.append(request, {
          action,
          actor: actorOf(principal),
          target: targetOf(action, request, result),
          source: auditSource(request, this.addresses),
          ...detailsOf(options, request),
        });
        return result;
      }),
    );
  }

  private async append(request: Request, event: AuditEvent): Promise<void> {
    const teamUid = teamOf(request);
    try {
      await this.log.append(teamUid, event);
    } catch (error) {
      const msg = 'An operation was executed without its entry in the audit log.';
      runInContext(requestStateOf(request).context, () => this.logger.error({ msg, team_uid: teamUid, event }));
      throw error;
    }
  }
}

/** Where a request comes from. */
export function auditSource(request: Request, addresses: SenderAddress): AuditSource & { readonly address: string } {
  const userAgent = request.headers['user-agent'];
  return {
    address: addresses.of(request),
    ...(userAgent && { user_agent: cut(userAgent) }),
    trace_id: requestStateOf(request).context.traceId,
  };
}

/** Null: the entry belongs to the installation. */
function teamOf(request: Request): string | null {
  const access = requestStateOf(request).route?.access;
  const caller = callerOf(request);
  if (caller === undefined || (access?.kind === 'permission' && access.resource === INSTALLATION)) return null;
  const owner = decidedOwner(caller);
  return owner === null ? caller.teamUid : owner.teamUid;
}

const actorOf = ({ type, uid, displayName, tokenUid }: Principal): AuditEvent['actor'] => ({
  type,
  uid,
  name: cut(displayName),
  token_uid: tokenUid,
});

/** The uid of the response is that of a created resource; a path without it names what contains the resource. */
function targetOf(action: string, request: Request, result: unknown): AuditTarget {
  const type = action.slice(0, action.indexOf('.'));
  const answer = asObject(result);
  const uid = text(answer['uid']) ?? text(answer['id']) ?? Object.values(request.params).at(-1);
  const fields = { ...asObject(request.body), ...answer };
  const name = text(fields['name']) ?? text(fields['email']) ?? text(fields['display_name']);
  return { type, ...(uid !== undefined && { uid: String(uid) }), ...(name !== undefined && { name: cut(name) }) };
}

function detailsOf({ values = [] }: AuditOptions, { body, params }: Request): Pick<AuditEvent, 'details'> {
  const given = asObject(body);
  const fields = Object.keys(given).sort();
  const shown = Object.fromEntries(fields.filter((name) => values.includes(name)).map((name) => [name, given[name]]));
  const details = {
    ...(Object.keys(params).length > 0 && { path: { ...params } }),
    ...(fields.length > 0 && { fields, ...shown }),
  };
  return Object.keys(details).length === 0 ? {} : { details };
}

const asObject = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
const cut = (value: string): string => value.slice(0, MAX_TEXT).toWellFormed();
