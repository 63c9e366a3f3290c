import { Body, Controller, Delete, Get, Param, Post, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Audited, Authorize, type Caller, CurrentCaller } from '#platform/auth';
import {
  BodyLimit,
  invalidInput,
  LargeList,
  MIB,
  Operation,
  pathId,
  ProblemError,
  rejectionProblem,
  type ResourceProblems,
  unwrap,
} from '#platform/http';
import { prefixIssues } from '#platform/kernel';
import {
  type AgentConfig,
  type AmbientAgentConfig,
  createRunRefusal,
  readAgentConfig,
  refuseOversized,
  RunAgentResponse,
} from '#domain/runs';
import type { RequestedSchedule, UnavailableSchedules } from '../application/schedule-validator.js';
import { SchedulesService } from '../application/schedules.service.js';
import {
  CreateScheduledAgentRequest,
  DeleteScheduledAgentResponse,
  ListScheduledAgentsResponse,
  ScheduledAgentItem,
  UpdateScheduledAgentRequest,
} from './schedule.dto.js';
import { SchedulePresenter } from './schedule-presenter.js';

const BODY_LIMIT = 4 * MIB;
const ScheduleId = (): ParameterDecorator => Param('scheduleId', pathId('uid'));

const EXAMPLE = { name: 'nightly', cron_schedule: '0 3 * * *', prompt: 'Update the dependencies.', enabled: true };
const UPDATED = { status: 200, description: 'The updated schedule.', type: ScheduledAgentItem };

const SCHEDULE: ResourceProblems<UnavailableSchedules> = {
  noun: 'schedule',
  plural: 'schedules',
  owner: 'A team or a user',
  problems: {
    feature_not_available: () => new ProblemError('feature_not_available', 'Schedules are disabled for the team.'),
    not_authorized: ({ detail }) => new ProblemError('not_authorized', detail),
  },
};

@ApiTags('Schedules')
@Controller('agent/schedules')
export class SchedulesController {
  constructor(
    private readonly schedules: SchedulesService,
    private readonly presenter: SchedulePresenter,
  ) {}

  @Post()
  @BodyLimit(BODY_LIMIT)
  @Authorize('schedules:write', 'schedule')
  @Audited('schedule.created', { values: ['cron_schedule', 'timezone', 'enabled'] })
  @Operation({
    id: 'createScheduledAgent',
    summary: 'Create a schedule',
    description:
      'Each due time of an enabled schedule starts one run. A cron expression that is invalid or never due is rejected with 400. A reference in `agent_config` that does not exist, or is not accessible, is rejected with 403. 403 `feature_not_available`: schedules are disabled for the team. A team or a user can have at most 1,000 schedules.',
    team: true,
    request: { value: EXAMPLE },
    success: { status: 201, description: 'The schedule.', type: ScheduledAgentItem },
    errors: [400, 403, 'feature_not_available', 'limit_reached'],
  })
  async createScheduledAgent(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateScheduledAgentRequest,
  ): Promise<ScheduledAgentItem> {
    const schedule = unwrap(await this.schedules.create(caller, toRequestedSchedule(body), body.team), SCHEDULE);
    return this.presenter.one(caller, schedule);
  }

  @Get()
  @Authorize('schedules:read')
  @LargeList()
  @Operation({
    id: 'listScheduledAgents',
    summary: 'List schedules',
    description:
      'The caller’s own schedules and those of the team, alphabetically by name; without the team header, those of all teams of the caller. `prompt` contains the first 2,048 characters. At most 8 MiB of schedules, without the largest ones of each owner if there are more; these can be read by their id. Schedules behind 8 MiB with their environments have no `environment`; the response to a request for one schedule has it.',
    team: true,
    success: { status: 200, description: 'The schedules.', type: ListScheduledAgentsResponse },
    errors: [403],
  })
  async listScheduledAgents(@CurrentCaller() caller: Caller): Promise<ListScheduledAgentsResponse> {
    return { schedules: await this.presenter.list(caller, await this.schedules.list(caller)) };
  }

  @Get(':scheduleId')
  @Authorize('schedules:read', 'schedule')
  @Operation({
    id: 'getScheduledAgent',
    summary: 'Get a schedule',
    success: { status: 200, description: 'The schedule.', type: ScheduledAgentItem },
  })
  async getScheduledAgent(@CurrentCaller() caller: Caller, @ScheduleId() uid: string): Promise<ScheduledAgentItem> {
    return this.presenter.one(caller, unwrap(await this.schedules.get(caller, uid), SCHEDULE));
  }

  @Put(':scheduleId')
  @BodyLimit(BODY_LIMIT)
  @Authorize('schedules:write', 'schedule')
  @Audited('schedule.updated', { values: ['cron_schedule', 'timezone', 'enabled'] })
  @Operation({
    id: 'updateScheduledAgent',
    summary: 'Update a schedule',
    description:
      'Replaces all fields: an absent field gets its default, and absent `metadata` is cleared. An absent `agent_config` is kept; null clears it. The response of a GET can be sent back: `***` keeps a value of `env` or `headers` as long as the command or URL of the server stays the same. Runs that the schedule has started do not change. The caller becomes the creator of its future runs.',
    request: { value: { ...EXAMPLE, cron_schedule: '30 3 * * *' } },
    success: UPDATED,
    errors: [400, 403, 'feature_not_available', 404],
  })
  async updateScheduledAgent(
    @CurrentCaller() caller: Caller,
    @ScheduleId() uid: string,
    @Body() body: UpdateScheduledAgentRequest,
  ): Promise<ScheduledAgentItem> {
    const schedule = unwrap(await this.schedules.update(caller, uid, toRequestedSchedule(body)), SCHEDULE);
    return this.presenter.one(caller, schedule);
  }

  @Delete(':scheduleId')
  @Authorize('schedules:write', 'schedule')
  @Audited('schedule.deleted')
  @Operation({
    id: 'deleteScheduledAgent',
    summary: 'Delete a schedule',
    description: 'The schedule starts no runs after the response. Runs that it has started continue.',
    success: { status: 200, description: 'Deleted.', type: DeleteScheduledAgentResponse },
  })
  async deleteScheduledAgent(
    @CurrentCaller() caller: Caller,
    @ScheduleId() uid: string,
  ): Promise<DeleteScheduledAgentResponse> {
    unwrap(await this.schedules.delete(caller, uid), SCHEDULE);
    return { success: true };
  }

  @Post(':scheduleId/pause')
  @Authorize('schedules:write', 'schedule')
  @Audited('schedule.paused')
  @Operation({
    id: 'pauseScheduledAgent',
    summary: 'Pause a schedule',
    description: 'The schedule starts no runs after the response until it is resumed. A paused schedule stays paused.',
    success: UPDATED,
  })
  async pauseScheduledAgent(@CurrentCaller() caller: Caller, @ScheduleId() uid: string): Promise<ScheduledAgentItem> {
    return this.presenter.one(caller, unwrap(await this.schedules.pause(caller, uid), SCHEDULE));
  }

  @Post(':scheduleId/resume')
  @Authorize('schedules:write', 'schedule')
  @Audited('schedule.resumed')
  @Operation({
    id: 'resumeScheduledAgent',
    summary: 'Resume a schedule',
    description:
      'It starts runs from its next due time on; due times during the pause are not repeated. An enabled schedule stays enabled.',
    success: UPDATED,
    errors: [400, 403, 'feature_not_available', 404],
  })
  async resumeScheduledAgent(@CurrentCaller() caller: Caller, @ScheduleId() uid: string): Promise<ScheduledAgentItem> {
    return this.presenter.one(caller, unwrap(await this.schedules.resume(caller, uid), SCHEDULE));
  }

  @Post(':scheduleId/run')
  @Authorize('schedules:write', 'schedule')
  @Operation({
    id: 'runScheduledAgent',
    summary: 'Start a run of a schedule',
    description:
      'Starts one run as at a due time, with the caller as its creator, also of a paused schedule. Due times and the overlap policy do not matter. 400: the schedule as it is saved cannot start a run.',
    success: { status: 200, description: 'The run is queued.', type: RunAgentResponse },
    errors: [400, 403, 'feature_not_available', 404],
  })
  async runScheduledAgent(@CurrentCaller() caller: Caller, @ScheduleId() uid: string): Promise<RunAgentResponse> {
    const result = await this.schedules.run(caller, uid);
    if (result.kind !== 'created') throw runProblem(result);
    return {
      run_id: result.runId,
      task_id: result.runId,
      state: result.state,
      ...(result.atCapacity ? { at_capacity: true } : {}),
    };
  }
}

/** An absent field gets its default, except `agent_config`. Throws a problem for an invalid configuration. */
function toRequestedSchedule(body: CreateScheduledAgentRequest | UpdateScheduledAgentRequest): RequestedSchedule {
  refuseOversized('prompt', body.prompt);
  return {
    name: body.name,
    cronSchedule: body.cron_schedule,
    prompt: body.prompt,
    enabled: body.enabled,
    timezone: body.timezone,
    agentConfig: body.agent_config && toConfig(body.agent_config),
    agentIdentityUid: body.agent_uid,
    mode: body.mode,
    metadata: body.metadata,
    overlapPolicy: body.overlap_policy,
    jitterSeconds: body.jitter_seconds,
  };
}

function toConfig(config: AmbientAgentConfig): AgentConfig {
  const read = readAgentConfig(JSON.parse(JSON.stringify(config)));
  if (read.kind === 'valid') return read.config;
  throw invalidInput(prefixIssues('/agent_config', read.issues));
}

/** The problem of a run that is not started. The field `config` of a run request is `agent_config` in a schedule. */
function runProblem(
  rejection: Exclude<Awaited<ReturnType<SchedulesService['run']>>, { kind: 'created' }>,
): ProblemError {
  switch (rejection.kind) {
    case 'not_found':
    case 'forbidden':
      return rejectionProblem(rejection, SCHEDULE);
    case 'feature_not_available':
      return SCHEDULE.problems.feature_not_available(rejection);
    case 'invalid':
    case 'unavailable':
    case 'too_large':
      return createRunRefusal({
        ...rejection,
        pointer: rejection.pointer.replace(/^\/config(?=\/|$)/, '/agent_config'),
      });
    default:
      return createRunRefusal(rejection);
  }
}
