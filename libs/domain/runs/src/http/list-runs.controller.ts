import { Controller, Get, Query } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { type Issue, Operation, ProblemError } from '#platform/http';
import { ListRuns, type ListRunsResult } from '../application/list-runs.js';
import type { RunFilters } from '../domain/run-filters.js';
import { MAX_SEARCH_TERMS, searchWords } from '../domain/search-terms.js';
import { ListRunsParameters } from './dto/list-runs.dto.js';
import { ListRunsResponse } from './dto/run-responses.dto.js';
import { RunPresenter } from './run-presenter.js';

const DEFAULT_LIMIT = 20;
const RETRY_SECONDS = 5;

@Controller('agent/runs')
export class ListRunsController {
  constructor(
    private readonly listRuns: ListRuns,
    private readonly presenter: RunPresenter,
  ) {}

  @Get()
  @Authorize('runs:read')
  @Operation({
    id: 'listRuns',
    summary: 'List runs',
    description:
      'A page has at most `limit` runs, and fewer when they are large (8 MiB of configuration, artifacts and prompts); `has_next_page` tells whether more follow.',
    tag: 'Runs',
    team: true,
    errors: [400, 403, 'feature_not_available'],
    success: { status: 200, description: 'One page of the runs that the caller may see.', type: ListRunsResponse },
  })
  async list(@CurrentCaller() caller: Caller, @Query() query: ListRunsParameters): Promise<ListRunsResponse> {
    refuseContradictions(query);
    if (query.metadata !== undefined && !mayFilterByMetadata(caller)) {
      throw new ProblemError('feature_not_available', 'Filtering by `metadata` is switched off for a team of yours.');
    }
    const result = await this.listRuns.execute(caller, {
      sort: query.sort_by ?? 'updated_at',
      order: query.sort_order ?? 'desc',
      filters: filtersOf(query),
      text: query.q ?? null,
      limit: query.limit ?? DEFAULT_LIMIT,
      cursor: query.cursor ?? null,
    });
    if (result.kind !== 'page') throw problemOf(result);
    const { nextCursor } = result;
    return {
      runs: await this.presenter.runs(result.runs),
      page_info: nextCursor === null ? { has_next_page: false } : { has_next_page: true, next_cursor: nextCursor },
    };
  }
}

/** In the order in which cursors know them, whatever the order in the address. */
function filtersOf(query: ListRunsParameters): Omit<RunFilters, 'search'> {
  const pairs = [
    query.metadata && Object.fromEntries(Object.entries(query.metadata).sort(([a], [b]) => (a < b ? -1 : 1))),
    query.automation_id !== undefined && { automation_id: query.automation_id },
    query.factory_uid !== undefined && { factory_uid: query.factory_uid },
  ].filter((map) => map !== undefined && map !== false);
  const skillSpec = query.skill_spec ?? query.skill;
  return {
    ...(query.state && query.state.length > 0 && { states: query.state }),
    ...(query.name !== undefined && { name: query.name }),
    ...(query.model_id !== undefined && { modelId: query.model_id }),
    ...(query.creator !== undefined && { creatorUid: query.creator }),
    ...(query.executor !== undefined && { executorUid: query.executor }),
    ...(query.source !== undefined && { source: query.source }),
    ...(query.execution_location !== undefined && { executionLocation: query.execution_location }),
    ...(query.environment_id !== undefined && { environmentId: query.environment_id }),
    ...(skillSpec !== undefined && { skillSpec }),
    ...(query.schedule_id !== undefined && { scheduleId: query.schedule_id }),
    ...(query.ancestor_run_id !== undefined && { ancestorRunId: query.ancestor_run_id.toLowerCase() }),
    ...(pairs.length > 0 && { metadata: pairs }),
    ...(query.artifact_type !== undefined && { artifactType: query.artifact_type }),
    ...(query.created_after && { createdAfter: query.created_after }),
    ...(query.created_before && { createdBefore: query.created_before }),
    ...(query.updated_after && { updatedAfter: query.updated_after }),
  };
}

/** What the fields alone do not say. */
function refuseContradictions({ skill, skill_spec, q }: ListRunsParameters): void {
  if (skill !== undefined && skill_spec !== undefined && skill !== skill_spec)
    throw refused({ pointer: '/skill', detail: 'must be the same as skill_spec, or one of them be left out' });
  if (q !== undefined && searchWords(q).length > MAX_SEARCH_TERMS)
    throw refused({ pointer: '/q', detail: `must not exceed ${MAX_SEARCH_TERMS} different words` });
}

const mayFilterByMetadata = ({ principal, teamUids }: Caller): boolean =>
  principal.memberships.every(
    ({ teamUid, team }) => !teamUids.includes(teamUid) || team.features.metadata_filter !== false,
  );

const refused = (issue: Issue): ProblemError =>
  new ProblemError('invalid_request', `Query parameter \`${issue.pointer.slice(1)}\` ${issue.detail}.`, {
    errors: [issue],
  });

function problemOf({ kind }: Exclude<ListRunsResult, { kind: 'page' }>): ProblemError {
  switch (kind) {
    case 'bad_cursor':
      return refused({ pointer: '/cursor', detail: 'is not a cursor of a list with this sort and these filters' });
    case 'unknown_ancestor':
      return refused({ pointer: '/ancestor_run_id', detail: 'must be a run that exists and that you may see' });
    case 'too_slow':
      return new ProblemError(
        'resource_unavailable',
        'The search took too long. Narrow it: a longer or rarer word in `q`, a time with `created_after` or `updated_after`, or one more filter.',
        { retryAfterSeconds: RETRY_SECONDS },
      );
    case 'busy':
      return new ProblemError('resource_unavailable', 'Too many searches are under way. Try again in a moment.', {
        retryAfterSeconds: RETRY_SECONDS,
      });
  }
}
