import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { StringField, headerText, notFound, Operation, pathId, ProblemError, Shutdown } from '#platform/http';
import { AccessChanges, Authorize, type Caller, CurrentCaller, isAllowed, RequestPrincipals } from '#platform/auth';
import { Settings } from '#platform/config';
import { foundOrThrow, type Run, RunsService } from '#domain/runs';
import { RunTail } from '#execution/executions';
import { RunEventStreams, type StreamPosition, START } from '../application/live/run-event-streams.js';
import { type StreamSlot, StreamLimiter } from '../application/live/watched-runs.js';
import { EventStream } from './event-stream.js';

class RunEventsParameters {
  @StringField({
    optional: true,
    max: 512,
    description:
      'Id of the last event received, for clients that cannot set the `Last-Event-ID` header. The header wins.',
  })
  last_event_id?: string;
}

/** The description in OpenAPI; `docs/live-events.md` has the details. */
const STREAM_DESCRIPTION = `Server-sent events: first the current state and all events so far, then new events as they occur.
Every event has an \`id\`; sent back as \`Last-Event-ID\` (or \`last_event_id\`) to any process of the installation, the stream resumes after it.

- \`state\`: \`{run_id, state, status_message?, updated_at}\`, at the beginning and at each change.
- \`timeline\`: a \`RunTimelineEvent\`; each once.
- \`conversation\`: \`{conversation_id, path, step, message_index?, message?}\`. Put \`step\` at \`path\` (indexes into \`steps\`, level by level), \`message\` at \`message_index\`, replacing what is there; drop messages beyond \`step.message_count\`.
- \`end\`: \`{run_id, reason}\` with \`run_ended\`, \`run_deleted\` or \`access_ended\`; the stream closes. A follow-up may continue an ended run: connect again.

Resume a stream that closes without \`end\`. A comment is sent every 15 seconds while there are no events.`;

const RETRY_AFTER_SECONDS = 5;

@ApiTags('Runs')
@Controller('agent/runs/:runId/events')
export class RunEventsController {
  constructor(
    private readonly runs: RunsService,
    private readonly tail: RunTail,
    private readonly principals: RequestPrincipals,
    private readonly accessChanges: AccessChanges,
    private readonly streams: RunEventStreams,
    private readonly limiter: StreamLimiter,
    private readonly shutdown: Shutdown,
    private readonly settings: Settings,
  ) {}

  @Get()
  @Authorize('runs:read', 'run')
  @ApiHeader({ name: 'Last-Event-ID', required: false, description: 'Id of the last event received.' })
  @ApiResponse({ status: 204, description: 'The run has ended and everything was received: do not connect again.' })
  @Operation({
    id: 'streamRunEvents',
    summary: 'Stream run events',
    description: STREAM_DESCRIPTION,
    success: {
      status: 200,
      description: 'The stream.',
      schema: { type: 'string' },
      contentType: 'text/event-stream',
      example: 'event: state\nid: WzAsMF0.mFq0\ndata: {"run_id":"…","state":"INPROGRESS","updated_at":"…"}\n\n',
    },
  })
  async stream(
    @CurrentCaller() caller: Caller,
    @Param('runId', pathId('uuid')) runId: string,
    @Query() query: RunEventsParameters,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const run = foundOrThrow(await this.runs.find(caller, runId));
    const from = this.positionOf(runId, headerText(request.headers['last-event-id']), query.last_event_id);
    const [head] = await this.tail.heads([runId]);
    if (!head) throw notFound('run');
    if (from !== START && this.streams.isAtEnd(head, from)) {
      response.status(204).end();
      return;
    }
    const slot = acquiredSlot(this.limiter.acquire(caller.principal.uid));
    const abort = new AbortController();
    const forget = this.shutdown.onShutdown(() => abort.abort());
    let unsubscribe = (): void => undefined;
    response.once('close', () => abort.abort());
    try {
      const stream = new EventStream(response, this.settings.liveWriteTimeout);
      stream.open();
      const isStillAuthorized = () => this.isStillAuthorized(run, caller, request);
      unsubscribe = this.accessChanges.subscribe(() => {
        // An error is not a decision: the stream checks again at its next recheck.
        isStillAuthorized().then(
          (may) => may || abort.abort(),
          () => undefined,
        );
      });
      if (request.method !== 'HEAD') await this.send(stream, { head, from, isStillAuthorized, abort: abort.signal });
      stream.close();
    } finally {
      unsubscribe();
      forget();
      slot.release();
    }
  }

  private async send(stream: EventStream, options: Parameters<RunEventStreams['follow']>[0]): Promise<void> {
    for await (const event of this.streams.follow(options)) {
      const isConnected =
        event === null ? await stream.heartbeat() : await stream.send(event.event, event.id, event.data);
      if (!isConnected || options.abort.aborted) return;
    }
  }

  /** The header takes precedence: an EventSource that was opened with the parameter sends both when it reconnects. */
  private positionOf(runId: string, header: string | undefined, parameter: string | undefined): StreamPosition {
    const [id, place, pointer] = header
      ? [header, 'The header `Last-Event-ID`', '/Last-Event-ID']
      : [parameter ?? '', 'Query parameter `last_event_id`', '/last_event_id'];
    if (id === '') return START;
    const position = this.streams.positionOf(runId, id);
    if (position) return position;
    const detail = 'is not the id of an event of this run';
    throw new ProblemError('invalid_request', `${place} ${detail}.`, { errors: [{ pointer, detail }] });
  }

  /** A token may be revoked and a membership end while a stream is open. */
  private async isStillAuthorized({ owner }: Run, caller: Caller, request: Request): Promise<boolean> {
    const principal = await this.principals.of(request);
    return typeof principal !== 'string' && isAllowed({ ...caller, principal }, owner);
  }
}

function acquiredSlot(slot: StreamSlot): Exclude<StreamSlot, string> {
  if (typeof slot !== 'string') return slot;
  const [code, scope] =
    slot === 'principal_limit'
      ? (['rate_limited', 'for this principal'] as const)
      : (['resource_unavailable', 'in this process'] as const);
  throw new ProblemError(code, `Too many open event streams ${scope}.`, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}
