import { Body, Controller, Get, Headers, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FACTORY } from '#domain/factories';
import {
  createRunRefusal,
  IDEMPOTENCY_KEY,
  idempotencyClaim,
  IdempotencyKeyHeader,
  refuseOversized,
} from '#domain/runs';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Settings } from '#platform/config';
import {
  BodyLimit,
  invalidCursor,
  invalidInput,
  MIB,
  Operation,
  pageInfo,
  pathId,
  ProblemError,
  rejectionProblem,
  unwrap,
} from '#platform/http';
import { type DiscoveredFactory, FactoryRunsService, FOREMAN } from '../application/factory-runs.service.js';
import {
  DispatchFactoryRunRequest,
  DispatchFactoryRunResponse,
  FactoryItem,
  ListFactoriesParameters,
  ListFactoriesResponse,
} from './factory.dto.js';

const DEFAULT_LIMIT = 100;
const OTHER_SEARCH = { pointer: '/search', detail: 'must be the same as query, or one of them be left out' };

@ApiTags('Factories')
@Controller('factory')
export class FactoryController {
  constructor(
    private readonly factories: FactoryRunsService,
    private readonly settings: Settings,
  ) {}

  @Get()
  @Authorize('factories:read')
  @Operation({
    id: 'listFactories',
    summary: 'List factories',
    description: 'Those of the team that the team header picks; without it, of all teams of the caller.',
    team: true,
    success: { status: 200, description: 'A page.', type: ListFactoriesResponse },
    errors: [400, 403],
  })
  async listFactories(
    @CurrentCaller() caller: Caller,
    @Query() { query, search, limit = DEFAULT_LIMIT, cursor }: ListFactoriesParameters,
  ): Promise<ListFactoriesResponse> {
    if (query !== undefined && search !== undefined && query !== search) throw invalidInput([OTHER_SEARCH]);
    const text = query ?? search ?? null;
    const page = await this.factories.list(caller, { text, limit, cursor: cursor ?? null });
    if (page.kind === 'invalid_cursor') throw invalidCursor('this list with this `query`');
    return { factories: page.items.map(present), page_info: pageInfo(page.nextCursor) };
  }

  @Get(':uid')
  @Authorize('factories:read', 'factory')
  @Operation({
    id: 'getFactory',
    summary: 'Get a factory',
    success: { status: 200, description: 'The factory.', type: FactoryItem },
  })
  async getFactory(@CurrentCaller() caller: Caller, @Param('uid', pathId('uid')) uid: string): Promise<FactoryItem> {
    return present(unwrap(await this.factories.get(caller, uid), FACTORY).factory);
  }

  @Post(':uid/runs')
  @BodyLimit(20 * MIB)
  @Authorize('runs:write', 'factory')
  @IdempotencyKeyHeader()
  @Operation({
    id: 'dispatchFactoryRun',
    summary: 'Start a run in a factory',
    description:
      'Starts a run of the factory’s foreman, the agent of that name in its definition; in a factory without one, a run with the factory’s defaults. The factory’s team owns the run. Its metadata are `factory_uid`, `ticket_source`, `ticket_id` and, if given, `ticket_url`. An `Idempotency-Key` makes retries safe.',
    request: { value: { prompt: 'Find out why the nightly build fails.', ticket_ref: 'linear:ENG-42' } },
    success: { status: 200, description: 'The run is queued.', type: DispatchFactoryRunResponse },
    errors: [400, 403, 404, 422, 'idempotency_key_reused'],
  })
  async dispatchFactoryRun(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
    @Body() request: DispatchFactoryRunRequest,
    @Headers(IDEMPOTENCY_KEY) key?: string,
  ): Promise<DispatchFactoryRunResponse> {
    const { prompt, title, ticket_ref: ticketRef, ticket_url: ticketUrl } = request;
    refuseOversized('prompt', prompt);
    const idempotency = idempotencyClaim(key, { factory_uid: uid, ...request });
    const command = { prompt, title, ticketRef, ticketUrl, idempotency };
    const result = await this.factories.dispatch(caller, uid, command);
    if (result.kind !== 'dispatched') throw dispatchProblem(result);
    return {
      factory_uid: uid,
      foreman_agent: result.agent,
      run_id: result.runId,
      state: result.state,
      ticket_ref: result.ticketRef,
      run_url: `${this.settings.publicUrl}/runs/${result.runId}`,
    };
  }
}

const present = (factory: DiscoveredFactory): FactoryItem => ({
  uid: factory.uid,
  name: factory.name,
  description: factory.description,
  ...(factory.alias === null ? {} : { alias: factory.alias }),
  scope: { type: 'Team', uid: factory.teamUid },
  ...(factory.foremanUid === null ? {} : { foreman_agent: FOREMAN, foreman_agent_uid: factory.foremanUid }),
  created_at: factory.createdAt.toISOString(),
  updated_at: factory.updatedAt.toISOString(),
});

type DispatchResult = Awaited<ReturnType<FactoryRunsService['dispatch']>>;

function dispatchProblem(rejection: Exclude<DispatchResult, { kind: 'dispatched' }>): ProblemError {
  switch (rejection.kind) {
    case 'not_found':
    case 'invalid':
      return rejectionProblem(rejection, FACTORY);
    case 'forbidden':
      return new ProblemError('not_authorized', 'Your role on the factory’s team does not allow creating runs.');
    case 'foreman_missing':
      return new ProblemError(
        'operation_not_supported',
        'The factory’s foreman was deleted or is not available: apply the factory’s definition again, or make the agent identity available.',
      );
    case 'unusable_settings':
      return new ProblemError(
        'operation_not_supported',
        `What the factory starts its agents with cannot be used: ${rejection.reason}`,
      );
    case 'unavailable':
    case 'key_reused':
      return createRunRefusal(rejection);
  }
}
