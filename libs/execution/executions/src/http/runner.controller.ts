import {
  Body,
  Controller,
  Get,
  HttpCode,
  Param,
  Post,
  Put,
  Query,
  Req,
  Res,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Settings } from '#platform/config';
import { BodyLimit, ProblemError, RunnerProtocol, Shutdown, StreamedBody, sendStream } from '#platform/http';
import {
  type Assignment,
  type BatchAck,
  type Commands,
  type HeartbeatAck,
  isServerEventKind,
  type RepositoryCredentialAnswer,
  RUNNER_PROTOCOL_VERSION,
} from '#execution/runner-protocol';
import { limited } from '#platform/storage';
import { AssignmentSource } from '../application/assignment-source.js';
import { ClaimExecution } from '../application/claim-execution.js';
import { FinishExecution } from '../application/finish-execution.js';
import { ReadCommands } from '../application/read-commands.js';
import { ReportEvents } from '../application/report-events.js';
import { eventFault } from '../domain/turn-outcome.js';
import { Transcripts } from '../application/transcripts.js';
import { leaseTimes } from '../domain/lease.js';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { leaseLost } from './lease-lost.js';
import {
  ClaimRequestBody,
  CommandsParameters,
  EventBatchBody,
  ExecutionTokenGuard,
  FinishRequestBody,
  LeaseParameters,
  RepositoryCredentialBody,
  SanitizeBody,
  SMALL_BODY,
  TranscriptParameters,
} from './runner-request.js';

const MAX_WAIT_SECONDS = 25;

/** The runner protocol, version 1; see docs/runner-protocol.md. Not part of the public API. */
@ApiExcludeController()
@Controller('runner/v1/executions/:executionId')
@UseGuards(ExecutionTokenGuard)
@UseInterceptors(SanitizeBody)
export class RunnerController {
  constructor(
    private readonly claimExecution: ClaimExecution,
    private readonly reportEvents: ReportEvents,
    private readonly finishExecution: FinishExecution,
    private readonly readCommands: ReadCommands,
    private readonly transcripts: Transcripts,
    private readonly executions: ExecutionsStore,
    private readonly assignments: AssignmentSource,
    private readonly shutdown: Shutdown,
    private readonly settings: Settings,
  ) {}

  @Post('claim')
  @BodyLimit(SMALL_BODY)
  @HttpCode(200)
  @RunnerProtocol()
  async claim(@Param('executionId') executionId: string, @Body() body: ClaimRequestBody): Promise<Assignment> {
    if (body.protocol_version !== RUNNER_PROTOCOL_VERSION) {
      throw new ProblemError(
        'invalid_request',
        `This server speaks version ${RUNNER_PROTOCOL_VERSION} of the runner protocol.`,
      );
    }
    const result = await this.claimExecution.execute(executionId, body);
    if (result === 'lease_lost') throw leaseLost();
    return result;
  }

  @Post('events')
  @HttpCode(200)
  @RunnerProtocol()
  async events(@Param('executionId') executionId: string, @Body() body: EventBatchBody): Promise<BatchAck> {
    const errors = body.events.flatMap((event, index) => {
      if (isServerEventKind(event.kind))
        return [{ pointer: `/events/${index}/kind`, detail: 'is a kind of event that runners may not report' }];
      const fault = eventFault(event);
      return fault ? [{ pointer: `/events/${index}/data/${fault.field}`, detail: fault.detail }] : [];
    });
    if (errors.length > 0) throw new ProblemError('invalid_request', 'An event is not valid.', { errors });
    const result = await this.reportEvents.execute(executionId, body.lease_epoch, body.events);
    if (result === 'lease_lost') throw leaseLost();
    if (result === 'invalid') throw new ProblemError('invalid_request', 'An event has a value that cannot be stored.');
    return result;
  }

  @Post('beat')
  @BodyLimit(SMALL_BODY)
  @HttpCode(200)
  @RunnerProtocol()
  async beat(@Param('executionId') executionId: string, @Body() body: LeaseParameters): Promise<HeartbeatAck> {
    const desired = await this.executions.renew(executionId, body.lease_epoch);
    if (desired === null) throw leaseLost();
    return { ...leaseTimes(this.settings.leaseTtl), desired };
  }

  @Post('finish')
  @HttpCode(200)
  @RunnerProtocol()
  async finish(@Param('executionId') executionId: string, @Body() body: FinishRequestBody): Promise<object> {
    if ((await this.finishExecution.execute(executionId, body)) === 'lease_lost') throw leaseLost();
    return {};
  }

  @Post('repository-credential')
  @BodyLimit(SMALL_BODY)
  @HttpCode(200)
  @RunnerProtocol()
  async repositoryCredential(
    @Param('executionId') executionId: string,
    @Body() body: RepositoryCredentialBody,
  ): Promise<RepositoryCredentialAnswer> {
    const runId = await this.executions.renewOfRun(executionId, body.lease_epoch);
    if (runId === null) throw leaseLost();
    return this.assignments.repositoryCredential(runId, executionId, body.url);
  }

  @Get('commands')
  @RunnerProtocol()
  async commands(
    @Param('executionId') executionId: string,
    @Query() query: CommandsParameters,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Commands | undefined> {
    const abort = new AbortController();
    const forget = this.shutdown.onShutdown(() => abort.abort());
    response.once('close', () => abort.abort());
    try {
      const waitMs = Math.min(query.wait ?? 0, MAX_WAIT_SECONDS) * 1000;
      const result = await this.readCommands.execute(
        executionId,
        query.lease_epoch,
        query.version,
        waitMs,
        abort.signal,
      );
      if (result === 'lease_lost') throw leaseLost();
      if (result !== 'nothing') return result;
      response.status(204);
      return undefined;
    } finally {
      forget();
    }
  }

  @Put('transcript')
  @StreamedBody()
  @RunnerProtocol()
  async upload(
    @Param('executionId') executionId: string,
    @Query() query: TranscriptParameters,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const meta = { format: query.format ?? 'unknown', sessionId: query.session_id ?? '' };
    const storing = this.transcripts.store(executionId, query.lease_epoch, request, meta);
    if ((await limited('A transcript', storing)) === 'lease_lost') throw leaseLost();
    response.status(204).end();
  }

  @Get('transcript')
  @RunnerProtocol()
  async download(
    @Param('executionId') executionId: string,
    @Query() query: TranscriptParameters,
    @Res() response: Response,
  ): Promise<void> {
    const found = await this.transcripts.readFor(executionId, query.lease_epoch);
    if (found === 'lease_lost') throw leaseLost();
    if (found === 'none') throw new ProblemError('resource_not_found', 'The conversation has no stored transcript.');
    response.setHeader('Content-Type', found.contentType);
    response.setHeader('Content-Length', found.sizeBytes);
    await sendStream(found.stream, response);
  }
}
