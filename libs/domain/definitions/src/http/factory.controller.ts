import { Body, Controller, Delete, Get, Headers, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FACTORY, FactoriesService } from '#domain/factories';
import {
  createRunRefusal,
  IDEMPOTENCY_KEY,
  idempotencyClaim,
  IdempotencyKeyHeader,
  refuseOversized,
} from '#domain/runs';
import { Audited, Authorize, type Caller, CurrentCaller, teamOf } from '#platform/auth';
import { Settings } from '#platform/config';
import {
  BodyLimit,
  invalidCursor,
  invalidInput,
  MIB,
  notFound,
  Operation,
  pageInfo,
  pathId,
  ProblemError,
  rejectionProblem,
  unwrap,
} from '#platform/http';
import { type DiscoveredFactory, FactoryRunsService, FOREMAN } from '../application/factory-runs.service.js';
import { type FactoryContents, ManageFactories } from '../application/manage-factories.js';
import {
  CreateFactoryRequest,
  DispatchFactoryRunRequest,
  DispatchFactoryRunResponse,
  FactoryItem,
  ListFactoriesParameters,
  ListFactoriesResponse,
  UpdateFactoryRequest,
} from './factory.dto.js';

const DEFAULT_LIMIT = 100;
const OTHER_SEARCH = { pointer: '/search', detail: 'must be the same as query, or one of them be left out' };

@ApiTags('Factories')
@Controller('factory')
export class FactoryController {
  constructor(
    private readonly factories: FactoryRunsService,
    private readonly records: FactoriesService,
    private readonly management: ManageFactories,
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

  @Post()
  @Authorize('factories:manage')
  @Audited('factory.created', { values: ['name', 'alias'] })
  @Operation({
    id: 'createFactory',
    summary: 'Create a factory',
    description: 'Webhooks, automations and agents are created in it, or by applying a definition.',
    team: true,
    request: { value: { name: 'CI failures', alias: 'ci-failures' } },
    success: { status: 201, description: 'The factory.', type: FactoryItem },
    errors: [400, 403],
  })
  async createFactory(@CurrentCaller() caller: Caller, @Body() body: CreateFactoryRequest): Promise<FactoryItem> {
    const { name, description = '', alias = null } = body;
    const result = await this.records.create({ teamUid: teamOf(caller), name, description, alias });
    switch (result.kind) {
      case 'created':
        return present({ ...result.factory, foremanUid: null });
      case 'alias_taken':
        throw aliasTaken();
      case 'unknown_team':
        throw notFound('team');
    }
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

  @Put(':uid')
  @Authorize('factories:manage', 'factory')
  @Audited('factory.updated', { values: ['name', 'alias'] })
  @Operation({
    id: 'updateFactory',
    summary: 'Update a factory',
    description: 'Omitted fields keep their values. Applying a definition sets them again as in its files.',
    request: { value: { name: 'CI failures on main' } },
    success: { status: 200, description: 'The updated factory.', type: FactoryItem },
  })
  async updateFactory(
    @CurrentCaller() caller: Caller,
    @Param('uid', pathId('uid')) uid: string,
    @Body() { name, description, alias }: UpdateFactoryRequest,
  ): Promise<FactoryItem> {
    const result = await this.management.update(caller, uid, {
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description }),
      ...(alias !== undefined && { alias }),
    });
    if (result.kind === 'alias_taken') throw aliasTaken();
    unwrap(result, FACTORY);
    return present(unwrap(await this.factories.get(caller, uid), FACTORY).factory);
  }

  @Delete(':uid')
  @Authorize('factories:manage', 'factory')
  @Audited('factory.deleted')
  @Operation({
    id: 'deleteFactory',
    summary: 'Delete a factory',
    description:
      'The factory must have no webhooks, automations and agents. Its definition is deleted with it; its runs are kept.',
    success: { status: 204, description: 'Deleted.' },
    errors: [400, 403, 404, 409],
  })
  async deleteFactory(@CurrentCaller() caller: Caller, @Param('uid', pathId('uid')) uid: string): Promise<void> {
    const result = await this.management.delete(caller, uid);
    if (result.kind === 'not_empty') throw new ProblemError('conflict', notEmpty(result.contents));
    if (result.kind === 'referenced')
      throw new ProblemError('conflict', 'A resource of a plugin refers to the factory: delete it first.');
    unwrap(result, FACTORY);
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

const aliasTaken = (): ProblemError =>
  invalidInput([{ pointer: '/alias', detail: 'is the alias of another factory of the team' }]);

const NAMES_SHOWN = 5;

function notEmpty(contents: FactoryContents): string {
  const kinds = Object.entries(contents).flatMap(([kind, names]: [string, readonly string[]]) => {
    if (names.length === 0) return [];
    const rest = names.length > NAMES_SHOWN ? `, and ${names.length - NAMES_SHOWN} more` : '';
    return [`${kind} (${names.slice(0, NAMES_SHOWN).join(', ')}${rest})`];
  });
  return `The factory has ${kinds.join(' and ')}: delete them first, or apply a definition without those of its definition.`;
}

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
