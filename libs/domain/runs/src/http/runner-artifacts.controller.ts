import { Body, Controller, Param, Post, Put, Query, Req, Res, UseGuards, UseInterceptors } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { invalidInput, ProblemError, RunnerProtocol, StreamedBody } from '#platform/http';
import type { ArtifactAck } from '#execution/runner-protocol';
import { ObjectTooLargeError } from '#platform/storage';
import { type ArtifactReportResult, ArtifactReports } from '../application/artifacts.service.js';
import { ArtifactContentParameters, ArtifactReferenceBody } from './dto/artifact.dto.js';
import { ExecutionTokenGuard, leaseLost, SanitizeBody } from '#execution/executions';

/** The runner protocol's way for what agents produce; see docs/runner-protocol.md. */
@ApiExcludeController()
@Controller('runner/v1/executions/:executionId/artifacts')
@UseGuards(ExecutionTokenGuard)
export class RunnerArtifactsController {
  constructor(private readonly reports: ArtifactReports) {}

  @Post()
  @RunnerProtocol()
  @UseInterceptors(SanitizeBody)
  async reference(
    @Param('executionId') executionId: string,
    @Body() body: ArtifactReferenceBody,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ArtifactAck> {
    const { lease_epoch: leaseEpoch, source_key: sourceKey, artifact_type: type, url, branch, title } = body;
    if (body.metadata !== undefined && (typeof body.metadata !== 'object' || Array.isArray(body.metadata)))
      throw invalidInput([{ pointer: '/metadata', detail: 'must be an object' }]);
    const result = await this.reports.reference(
      { executionId, leaseEpoch, sourceKey },
      {
        type,
        url,
        ...(branch === undefined ? {} : { branch }),
        ...(body.reference_type === undefined ? {} : { referenceType: body.reference_type }),
        ...(title === undefined ? {} : { title }),
        ...(body.metadata === undefined ? {} : { metadata: body.metadata as Record<string, unknown> }),
      },
    );
    response.status(200);
    return acknowledged(result);
  }

  @Put()
  @StreamedBody()
  @RunnerProtocol()
  async content(
    @Param('executionId') executionId: string,
    @Query() query: ArtifactContentParameters,
    @Req() request: Request,
  ): Promise<ArtifactAck> {
    const { lease_epoch: leaseEpoch, source_key: sourceKey, artifact_type: type, title, description, url } = query;
    const report = {
      type,
      mimeType: query.mime_type.toLowerCase(),
      filepath: query.filepath,
      ...(title === undefined ? {} : { title }),
      ...(description === undefined ? {} : { description }),
      ...(url === undefined ? {} : { url }),
    };
    try {
      return acknowledged(await this.reports.content({ executionId, leaseEpoch, sourceKey }, report, request));
    } catch (error) {
      if (!(error instanceof ObjectTooLargeError)) throw error;
      const detail = `An artifact of type ${type} may have at most ${error.maxBytes} bytes.`;
      throw new ProblemError('payload_too_large', detail, { cause: error });
    }
  }
}

function acknowledged(result: ArtifactReportResult): ArtifactAck {
  switch (result.kind) {
    case 'stored':
      return { artifact_uid: result.uid };
    case 'lease_lost':
      throw leaseLost();
    case 'run_full':
      throw new ProblemError(
        'payload_too_large',
        `All artifacts of a run together may have at most ${result.maxBytes} bytes (MAX_ARTIFACT_BYTES_PER_RUN).`,
      );
    case 'refused':
      throw invalidInput([{ pointer: `/${result.field}`, detail: result.detail }]);
  }
}
