import { Controller, Get, Query } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, ProblemError } from '#platform/http';
import { Artifacts } from '../application/artifacts.js';
import { canonicalUrl } from '../domain/canonical-url.js';
import { ExternalReferenceParameters, RunByExternalReferenceResponse } from './dto/artifact.dto.js';

@Controller('agent/run-by-external-reference')
export class ExternalReferenceController {
  constructor(private readonly artifacts: Artifacts) {}

  @Get()
  @Authorize('runs:read')
  @Operation({
    id: 'getRunByExternalReferenceURL',
    summary: 'Find a run by an external reference',
    tag: 'Artifacts',
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
    if (canonical.kind === 'refused') {
      const { detail } = canonical;
      throw new ProblemError('invalid_request', `Query parameter \`url\` ${detail}.`, {
        errors: [{ pointer: '/url', detail }],
      });
    }
    const runId = await this.artifacts.runByReference(caller, canonical.url);
    if (runId === null) throw new ProblemError('resource_not_found', 'No run refers to this address.');
    return { run_id: runId };
  }
}
