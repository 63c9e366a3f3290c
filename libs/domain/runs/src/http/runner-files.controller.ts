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
import { ExecutionTokenGuard, leaseLost, LeaseParameters, SanitizeBody } from '#execution/executions';
import type { ArtifactAck } from '#execution/runner-protocol';
import { invalidInput, pathId, ProblemError, RunnerProtocol, StreamedBody, sendStream } from '#platform/http';
import { limited } from '#platform/storage';
import { type ArtifactReportResult, ArtifactsService } from '../application/artifacts.service.js';
import { Attachments } from '../application/attachments.js';
import { ArtifactContentParameters, ArtifactReferenceBody } from './dto/artifact.dto.js';

/** Parts of the runner protocol: what agents produce, and the files of a run for its workspace. See docs/runner-protocol.md. */
@ApiExcludeController()
@Controller('runner/v1/executions/:executionId')
@UseGuards(ExecutionTokenGuard)
export class RunnerFilesController {
  constructor(
    private readonly artifacts: ArtifactsService,
    private readonly attachments: Attachments,
  ) {}

  @Post('artifacts')
  @HttpCode(200)
  @RunnerProtocol()
  @UseInterceptors(SanitizeBody)
  async reference(
    @Param('executionId') executionId: string,
    @Body() { lease_epoch: leaseEpoch, source_key: sourceKey, ...report }: ArtifactReferenceBody,
  ): Promise<ArtifactAck> {
    if (report.metadata !== undefined && (typeof report.metadata !== 'object' || Array.isArray(report.metadata)))
      throw invalidInput([{ pointer: '/metadata', detail: 'must be an object' }]);
    return acknowledged(await this.artifacts.storeReference({ executionId, leaseEpoch, sourceKey }, report));
  }

  @Put('artifacts')
  @StreamedBody()
  @RunnerProtocol()
  async content(
    @Param('executionId') executionId: string,
    @Query() { lease_epoch: leaseEpoch, source_key: sourceKey, ...report }: ArtifactContentParameters,
    @Req() request: Request,
  ): Promise<ArtifactAck> {
    const source = { executionId, leaseEpoch, sourceKey };
    const storing = this.artifacts.storeContent(source, report, request);
    return acknowledged(await limited(`An artifact of type ${report.artifact_type}`, storing));
  }

  @Get('attachments/:attachmentId')
  @RunnerProtocol()
  async download(
    @Param('executionId') executionId: string,
    @Param('attachmentId', pathId('uuid')) attachmentId: string,
    @Query() query: LeaseParameters,
    @Res() response: Response,
  ): Promise<void> {
    const found = await this.attachments.readFor(executionId, query.lease_epoch, attachmentId);
    if (found === 'lease_lost') throw leaseLost();
    if (found === 'none') throw new ProblemError('resource_not_found', 'The run has no such attachment.');
    response.setHeader('Content-Type', 'application/octet-stream');
    response.setHeader('Content-Length', found.sizeBytes);
    await sendStream(found.stream, response);
  }
}

function acknowledged(result: ArtifactReportResult): ArtifactAck {
  switch (result.kind) {
    case 'stored':
      return { artifact_uid: result.uid };
    case 'lease_lost':
      throw leaseLost();
    case 'changed':
      throw new ProblemError('resource_unavailable', 'Another request has changed the same diff. Repeat the request.');
    case 'run_full':
      throw new ProblemError(
        'payload_too_large',
        `All artifacts of a run together may have at most ${result.maxBytes} bytes (MAX_ARTIFACT_BYTES_PER_RUN).`,
      );
    case 'invalid':
      throw invalidInput(result.issues);
  }
}
