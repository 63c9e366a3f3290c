import { Controller, Get, Param, Query, Res, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { pipeline } from 'node:stream/promises';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Settings } from '#platform/config';
import { Operation, pathId, ProblemError, RunnerProtocol } from '#platform/http';
import { Attachments } from '../application/attachments.js';
import { RunsService } from '../application/runs.service.js';
import { ListHandoffAttachmentsResponse } from './dto/artifact-responses.dto.js';
import { ExecutionTokenGuard, LeaseParameters } from '#execution/executions';
import { foundOrThrow } from './problems.js';

@Controller('agent/runs/:runId/handoff/attachments')
export class AttachmentsController {
  constructor(
    private readonly runs: RunsService,
    private readonly attachments: Attachments,
    private readonly settings: Settings,
  ) {}

  @Get()
  @Authorize('runs:read')
  @Operation({
    id: 'listHandoffAttachments',
    summary: 'List attachments of a run',
    tag: 'Runs',
    errors: [400, 403, 404],
    success: {
      status: 200,
      description: 'In the order of the request that created the run.',
      type: ListHandoffAttachmentsResponse,
    },
  })
  async list(
    @CurrentCaller() caller: Caller,
    @Param('runId', pathId('uuid')) runId: string,
  ): Promise<ListHandoffAttachmentsResponse> {
    foundOrThrow(await this.runs.find(caller, runId, 'runs:read'));
    const stored = await this.attachments.list(runId);
    const attachments = stored.map(async (attachment) => ({
      attachment_id: attachment.id,
      filename: attachment.file_name,
      download_url: await this.attachments.linkTo(attachment, this.settings.signedUrlTtl),
      mime_type: attachment.mime_type,
    }));
    return { attachments: await Promise.all(attachments) };
  }
}

/** Part of the runner protocol: a file of the run for its workspace. */
@ApiExcludeController()
@Controller('runner/v1/executions/:executionId/attachments')
@UseGuards(ExecutionTokenGuard)
export class RunnerAttachmentsController {
  constructor(private readonly attachments: Attachments) {}

  @Get(':attachmentId')
  @RunnerProtocol()
  async download(
    @Param('executionId') executionId: string,
    @Param('attachmentId', pathId('uuid')) attachmentId: string,
    @Query() query: LeaseParameters,
    @Res() response: Response,
  ): Promise<void> {
    const found = await this.attachments.readFor(executionId, query.lease_epoch, attachmentId);
    if (found === 'lease_lost')
      throw new ProblemError('lease_lost', 'The execution has ended or belongs to another lease.');
    if (found === 'none') throw new ProblemError('resource_not_found', 'The run has no such attachment.');
    response.setHeader('Content-Type', 'application/octet-stream');
    response.setHeader('Content-Length', found.sizeBytes);
    await pipeline(found.stream, response);
  }
}
