import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiExtraModels, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, pathId, ProblemError, unwrap } from '#platform/http';
import { ArtifactsService } from '../application/artifacts.service.js';
import { canonicalUrl, PLAN_CONTENT_TYPE, shownData } from '../domain/artifact.js';
import type { StoredArtifact } from '../persistence/artifacts.store.js';
import {
  ARTIFACT_CLASSES,
  ARTIFACT_SCHEMA,
  type ArtifactResponse,
  ExternalReferenceParameters,
  RunByExternalReferenceResponse,
} from './dto/artifact.dto.js';
import { invalidParameter } from './problems.js';

const ARTIFACT_UID = pathId('uid');

@ApiExtraModels(...ARTIFACT_CLASSES)
@ApiTags('Artifacts')
@Controller('agent')
export class ArtifactsController {
  constructor(private readonly artifacts: ArtifactsService) {}

  @Get('artifacts/:artifactUid')
  @Authorize('runs:read', 'run')
  @Operation({
    id: 'getArtifact',
    summary: 'Get an artifact',
    description: 'A plan contains its text. A file or a screenshot contains a link that is valid for a limited time.',
    success: { status: 200, description: 'The artifact.', schema: ARTIFACT_SCHEMA },
  })
  async get(
    @CurrentCaller() caller: Caller,
    @Param('artifactUid', ARTIFACT_UID) artifactUid: string,
  ): Promise<ArtifactResponse> {
    const artifact = await this.found(caller, artifactUid);
    return {
      artifact_uid: artifact.uid,
      artifact_type: artifact.type,
      created_at: artifact.createdAt.toISOString(),
      data: { ...shownData(artifact), ...(await this.content(artifact)) },
      ...(await this.sourceLinks(artifact)),
    };
  }

  @Get('artifacts/:artifactUid/download')
  @Authorize('runs:read', 'run')
  @Operation({
    id: 'downloadArtifact',
    summary: 'Download an artifact',
    description:
      'Plans, screenshots and files have content. A pull request or an external reference has none, and returns 404.',
    success: {
      status: 302,
      description: 'The content is at `Location`, for a limited time.',
      headers: { Location: 'Time-limited download URL.' },
    },
  })
  async download(
    @CurrentCaller() caller: Caller,
    @Param('artifactUid', ARTIFACT_UID) artifactUid: string,
    @Res() response: Response,
  ): Promise<void> {
    const artifact = await this.found(caller, artifactUid);
    const link = await this.artifacts.link(artifact);
    if (link === null) {
      throw new ProblemError('resource_not_found', `An artifact of type ${artifact.type} has no content to download.`);
    }
    response.redirect(302, link.url);
  }

  @Get('run-by-external-reference')
  @Authorize('runs:read')
  @Operation({
    id: 'getRunByExternalReferenceURL',
    summary: 'Get a run by an external reference',
    errors: [400, 404],
    description:
      'Looks for EXTERNAL_REFERENCE and PULL_REQUEST artifacts with this address. A run that the caller may not see is answered like none at all.',
    success: { status: 200, description: 'The newest such run.', type: RunByExternalReferenceResponse },
  })
  async find(
    @CurrentCaller() caller: Caller,
    @Query() query: ExternalReferenceParameters,
  ): Promise<RunByExternalReferenceResponse> {
    const canonical = canonicalUrl(query.url);
    if (canonical.kind === 'refused') throw invalidParameter({ pointer: '/url', detail: canonical.detail });
    const runId = await this.artifacts.runByReference(caller, canonical.url);
    if (runId === null) throw new ProblemError('resource_not_found', 'No run refers to this address.');
    return { run_id: runId };
  }

  private async found(caller: Caller, uid: string): Promise<StoredArtifact> {
    return unwrap(await this.artifacts.find(caller, uid), { noun: 'artifact', plural: 'artifacts' }).artifact;
  }

  private async sourceLinks(artifact: StoredArtifact): Promise<Pick<ArtifactResponse, 'source_links'>> {
    const links = await this.artifacts.sourceLinks(artifact);
    if (links === null) return {};
    const { runUrl, pullRequestUrls: urls } = links;
    return { source_links: { run_url: runUrl, ...(urls.length === 0 ? {} : { pull_request_urls: [...urls] }) } };
  }

  private async content(artifact: StoredArtifact): Promise<object> {
    if (artifact.type === 'PLAN') {
      const content = await this.artifacts.planText(artifact);
      if (content === null) throw new ProblemError('resource_not_found', 'The text of this plan is not kept any more.');
      return { content, content_type: PLAN_CONTENT_TYPE };
    }
    const link = await this.artifacts.link(artifact);
    if (link === null) return {};
    return { download_url: link.url, expires_at: link.expiresAt.toISOString(), content_type: link.contentType };
  }
}
