import {
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import type { Request } from 'express';
import type { Observable } from 'rxjs';
import { Settings } from '#platform/config';
import { ProblemError } from '#platform/http';
import { toStorableJson } from '#platform/kernel';
import { ExecutionTokens } from '../domain/execution-token.js';

/** The runner protocol's own guard: a token that is good for exactly the execution in the path. */
@Injectable()
export class ExecutionTokenGuard implements CanActivate {
  private readonly tokens: ExecutionTokens;

  constructor(settings: Settings) {
    this.tokens = new ExecutionTokens(settings.secretsKey ?? '', settings.secretsKeyPrevious);
  }

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Request>();
    const token = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const executionId = this.tokens.verify(token);
    if (executionId === null || executionId !== request.params.executionId) {
      throw new ProblemError(
        'authentication_required',
        'The execution token is missing or not valid for this execution.',
        {
          headers: { 'WWW-Authenticate': 'Bearer' },
        },
      );
    }
    return true;
  }
}

/**
 * What agents say never fails a report: text that PostgreSQL cannot hold is replaced before the input rules look at it,
 * which refuse such text everywhere else. Changed events are flagged.
 */
@Injectable()
export class SanitizeBody implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<Request>();
    const { value, changed } = toStorableJson(request.body);
    if (changed) request.body = flagged(request.body, value);
    return next.handle();
  }
}

function flagged(before: unknown, after: unknown): unknown {
  const events = (after as { events?: unknown } | null)?.events;
  const originals = (before as { events?: unknown } | null)?.events;
  if (!Array.isArray(events) || !Array.isArray(originals)) return after;
  const marked = events.map((event: unknown, index) => {
    const data = (event as { data?: unknown } | null)?.data;
    const isChanged = typeof data === 'object' && data !== null && toStorableJson(originals[index]).changed;
    return isChanged ? { ...(event as object), data: { ...data, sanitized: true } } : event;
  });
  return { ...(after as object), events: marked };
}
