import { Controller, Get, Injectable, Param, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiResponse } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { AccessChanges, Authorize, type Caller, CurrentCaller, TokenAuthenticator } from '#platform/auth';
import { Settings } from '#platform/config';
import { headerText, Operation, pathId, ProblemError, Shutdown } from '#platform/http';
import { foundOrThrow, mayOnOwner, type Run, RunLog, RunTail } from '#domain/runs';
import { FollowRun } from '../application/live/follow-run.js';
import { type Admission, LiveStreams } from '../application/live/live-streams.js';
import { type LivePosition, START } from '../domain/live-position.js';
import { EventStream } from './event-stream.js';
import { RunEventsParameters, STREAM_DESCRIPTION } from './run-events.dto.js';

const RETRY_AFTER_SECONDS = 5;

/** What a stream asks of other rooms, in one place. */
@Injectable()
export class LiveSources {
  constructor(
    readonly log: RunLog,
    readonly tail: RunTail,
    readonly tokens: TokenAuthenticator,
    readonly changes: AccessChanges,
  ) {}
}

@Controller('agent/runs/:runId/events')
export class RunEventsController {
  constructor(
    private readonly sources: LiveSources,
    private readonly followRun: FollowRun,
    private readonly streams: LiveStreams,
    private readonly shutdown: Shutdown,
    private readonly settings: Settings,
  ) {}

  @Get()
  @Authorize('runs:read')
  @ApiHeader({ name: 'Last-Event-ID', required: false, description: 'Id of the last event received.' })
  @ApiResponse({ status: 204, description: 'The run has ended and everything was received: do not connect again.' })
  @Operation({
    id: 'streamRunEvents',
    summary: 'Watch a run live',
    description: STREAM_DESCRIPTION,
    tag: 'Runs',
    errors: [400, 403, 404],
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
    const run = foundOrThrow(await this.sources.log.findRun(caller, runId));
    const from = this.positionOf(runId, headerText(request.headers['last-event-id']), query.last_event_id);
    const [head] = await this.sources.tail.heads([runId]);
    if (!head) throw new ProblemError('resource_not_found', 'Run not found.');
    if (from !== START && this.followRun.isAtEnd(head, from)) {
      response.status(204).end();
      return;
    }
    const admission = admitted(this.streams.admit(caller.principal.uid));
    const abort = new AbortController();
    const forget = this.shutdown.onShutdown(() => abort.abort());
    let unsubscribe = (): void => undefined;
    response.once('close', () => abort.abort());
    try {
      const stream = new EventStream(response, this.settings.liveStall);
      stream.open();
      const mayStill = () => this.mayStill(run, caller, request.headers.authorization);
      unsubscribe = this.sources.changes.subscribe(() => {
        // A fault is no answer: the stream asks again by itself.
        mayStill().then(
          (may) => {
            if (!may) abort.abort();
          },
          () => undefined,
        );
      });
      if (request.method !== 'HEAD') await this.tell(stream, { head, from, mayStill, abort: abort.signal });
      stream.close();
    } finally {
      unsubscribe();
      forget();
      admission.release();
    }
  }

  private async tell(stream: EventStream, options: Parameters<FollowRun['execute']>[0]): Promise<void> {
    for await (const event of this.followRun.execute(options)) {
      const taken = event === null ? await stream.beat() : await stream.send(event.event, event.id, event.data);
      if (!taken || options.abort.aborted) return;
    }
  }

  /** The header wins: an EventSource that was opened with the parameter sends both when it comes again. */
  private positionOf(runId: string, header: string | undefined, parameter: string | undefined): LivePosition {
    const [id, place, pointer] = header
      ? [header, 'The header `Last-Event-ID`', '/Last-Event-ID']
      : [parameter ?? '', 'Query parameter `last_event_id`', '/last_event_id'];
    if (id === '') return START;
    const position = this.followRun.positions.decode(runId, id);
    if (position) return position;
    const detail = 'is not the id of an event of this run';
    throw new ProblemError('invalid_request', `${place} ${detail}.`, { errors: [{ pointer, detail }] });
  }

  /** A token may be revoked and a membership end while a stream is open. */
  private async mayStill({ owner }: Run, caller: Caller, authorization: string | undefined): Promise<boolean> {
    const principal = await this.sources.tokens.authenticate(authorization);
    return typeof principal !== 'string' && mayOnOwner({ ...caller, principal }, owner, 'runs:read');
  }
}

function admitted(admission: Admission): Exclude<Admission, string> {
  if (admission === 'too_many_of_yours')
    throw new ProblemError('rate_limited', 'You have too many event streams open.', {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  if (admission === 'too_many')
    throw new ProblemError('resource_unavailable', 'This process has too many event streams open.', {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  return admission;
}
