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
import {
  ArrayField,
  BooleanField,
  EnumField,
  ignoreUnknownFields,
  IntegerField,
  json,
  MapField,
  object,
  ProblemError,
  requestStateOf,
  StringField,
} from '#platform/http';
import { toStorableJson } from '#platform/kernel';
import {
  MAX_BATCH_EVENTS,
  MAX_INLINE_PACK_BYTES,
  SNAPSHOT_PACK_ID,
  SNAPSHOT_REASONS,
  type SnapshotReason,
} from '#execution/runner-protocol';
import { ExecutionTokens } from '../domain/execution-token.js';
import { RunnerTransfers } from './runner-transfers.js';

/** Bytes of the body of a call with a few short fields. */
export const SMALL_BODY = 65_536;

/** The runner protocol's own guard: a token that is good for exactly the execution in the path. Then reads the body. */
@Injectable()
export class ExecutionTokenGuard implements CanActivate {
  private readonly tokens: ExecutionTokens;

  constructor(
    settings: Settings,
    private readonly transfers: RunnerTransfers,
  ) {
    this.tokens = new ExecutionTokens(settings.secretsKey ?? '', settings.secretsKeyPrevious);
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
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
    requestStateOf(request).findOwner = () => this.transfers.ownerOf(executionId);
    await this.transfers.readJson(executionId, request);
    return true;
  }
}

/** Replaces text that PostgreSQL cannot hold before the input rules reject it: what agents say never fails a report. */
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

const OPTIONAL = { optional: true } as const;
const EPOCH = { min: 1, max: 2_147_483_647 } as const;

@ignoreUnknownFields
export class LeaseParameters {
  @IntegerField(EPOCH) lease_epoch: number;
}

@ignoreUnknownFields
export class ClaimRequestBody {
  @IntegerField({ min: 1, max: 1000 }) protocol_version: number;
  @StringField({ blank: false, max: 128 }) instance_id: string;
}

@ignoreUnknownFields
export class RunnerEventBody {
  @IntegerField({ min: 1 }) source_seq: number;
  /** Not only those of this version: an API is older than some of its runners while it is upgraded. */
  @StringField({ pattern: /^[a-z][a-z0-9_]{0,63}$/, says: 'a name in lower case' }) kind: string;
  @StringField({ ...OPTIONAL, max: 64 }) at?: string;
  @MapField(json()) data: Record<string, unknown>;
}

export class EventBatchBody extends LeaseParameters {
  @ArrayField(object(() => RunnerEventBody), { maxItems: MAX_BATCH_EVENTS }) events: RunnerEventBody[];
}

export class FinishRequestBody extends LeaseParameters {
  @EnumField(['closed', 'failed', 'cancelled', 'handed_back']) outcome:
    | 'closed'
    | 'failed'
    | 'cancelled'
    | 'handed_back';
  @StringField({ ...OPTIONAL, max: 64 }) error_code?: string;
  @StringField({ ...OPTIONAL, max: 262_144 }) message?: string;
  @BooleanField(OPTIONAL) retryable?: boolean;
  @StringField({ ...OPTIONAL, max: 262_144 }) detail?: string;
  @IntegerField({ ...OPTIONAL, min: 0, max: 255 }) exit_code?: number;
}

export class RepositoryCredentialBody extends LeaseParameters {
  @StringField({ blank: false, max: 4096 }) url: string;
}

export class CommandsParameters extends LeaseParameters {
  @IntegerField({ min: 0 }) version: number;
  @IntegerField({ ...OPTIONAL, min: 0, max: 60 }) wait?: number;
}

export class TranscriptParameters extends LeaseParameters {
  @StringField({ ...OPTIONAL, max: 128 }) format?: string;
  @StringField({ ...OPTIONAL, max: 512 }) session_id?: string;
}

export class SnapshotParameters extends LeaseParameters {
  @EnumField(SNAPSHOT_REASONS) reason: SnapshotReason;
  @IntegerField({ min: 0 }) stored_bytes: number;
  @StringField({ ...OPTIONAL, pattern: SNAPSHOT_PACK_ID, says: 'a UUID in lower case' }) pack_id?: string;
  @IntegerField({ ...OPTIONAL, min: 0, max: MAX_INLINE_PACK_BYTES }) pack_bytes?: number;
}
