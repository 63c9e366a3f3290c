import { Body, Controller, Delete, Get, Param, Post, Put } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { BodyLimit, MIB, Operation, pathId } from '#platform/http';
import { ChangeSchedule } from '../application/change-schedule.js';
import { CreateSchedule } from '../application/create-schedule.js';
import { FindSchedules } from '../application/find-schedules.js';
import {
  CreateScheduledAgentRequest,
  DeleteScheduledAgentResponse,
  ListScheduledAgentsResponse,
  ScheduledAgentItem,
  UpdateScheduledAgentRequest,
} from './schedule.dto.js';
import { toRequestedSchedule } from './schedule-input.js';
import { SchedulePresenter } from './schedule-presenter.js';
import { scheduleRefusal } from './schedule-refusals.js';

const TAG = 'Schedules';
const BODY_LIMIT = 4 * MIB;

/** Reading suffices at the door: whether one may write depends on who owns the schedule, and one's own needs no role. */
@Controller('agent/schedules')
export class SchedulesController {
  constructor(
    private readonly find: FindSchedules,
    private readonly create: CreateSchedule,
    private readonly change: ChangeSchedule,
    private readonly presenter: SchedulePresenter,
  ) {}

  @Post()
  @BodyLimit(BODY_LIMIT)
  @Authorize('schedules:read')
  @Operation({
    id: 'createScheduledAgent',
    summary: 'Start runs on a schedule',
    description:
      'Each due time of an enabled schedule starts one run. An expression that cannot be read, or is never due, is a 400 that says why. `agent_config` may name what runs of the schedule may use; what does not exist and what may not be used is the same 403. 403 `feature_not_available` where schedules are switched off for the team. A team, or a person, has at most 1,000.',
    tag: TAG,
    team: true,
    request: {
      value: { name: 'nightly', cron_schedule: '0 3 * * *', prompt: 'Update the dependencies.', enabled: true },
    },
    success: { status: 201, description: 'The schedule.', type: ScheduledAgentItem },
    errors: [400, 403, 'feature_not_available', 'limit_reached', 413, 415],
  })
  async createScheduledAgent(
    @CurrentCaller() caller: Caller,
    @Body() body: CreateScheduledAgentRequest,
  ): Promise<ScheduledAgentItem> {
    const result = await this.create.execute(caller, toRequestedSchedule(body), body.team);
    if (result.kind !== 'created') throw scheduleRefusal(result);
    return this.presenter.one(caller, result.schedule);
  }

  @Get()
  @Authorize('schedules:read')
  @Operation({
    id: 'listScheduledAgents',
    summary: 'List schedules',
    description:
      'One’s own and those of the team, alphabetically by name; without the team header, of all teams of the caller. `prompt` holds the first 2,048 characters.',
    tag: TAG,
    team: true,
    success: { status: 200, description: 'The schedules.', type: ListScheduledAgentsResponse },
    errors: [403],
  })
  async listScheduledAgents(@CurrentCaller() caller: Caller): Promise<ListScheduledAgentsResponse> {
    return { schedules: await this.presenter.list(caller, await this.find.all(caller)) };
  }

  @Get(':scheduleId')
  @Authorize('schedules:read')
  @Operation({
    id: 'getScheduledAgent',
    summary: 'Get a schedule',
    tag: TAG,
    success: { status: 200, description: 'The schedule.', type: ScheduledAgentItem },
    errors: [400, 403, 404],
  })
  async getScheduledAgent(
    @CurrentCaller() caller: Caller,
    @Param('scheduleId', pathId('uid')) scheduleId: string,
  ): Promise<ScheduledAgentItem> {
    const found = await this.find.one(caller, scheduleId, 'schedules:read');
    if (found.kind !== 'found') throw scheduleRefusal(found);
    return this.presenter.one(caller, found.schedule);
  }

  @Put(':scheduleId')
  @BodyLimit(BODY_LIMIT)
  @Authorize('schedules:read')
  @Operation({
    id: 'updateScheduledAgent',
    summary: 'Change a schedule',
    description:
      'Sets all of it: what is left out goes to its default, and `metadata` left out is cleared. Only `agent_config` stays when it is left out; null clears it. What a GET answers can be sent back: `***` keeps a value of `env` or `headers` as long as the server’s program or address stays. Runs that it has started keep the schedule as it was. The caller becomes the creator of its runs.',
    tag: TAG,
    request: {
      value: { name: 'nightly', cron_schedule: '30 3 * * *', prompt: 'Update the dependencies.', enabled: true },
    },
    success: { status: 200, description: 'The schedule as it is now.', type: ScheduledAgentItem },
    errors: [400, 403, 'feature_not_available', 404, 413, 415],
  })
  async updateScheduledAgent(
    @CurrentCaller() caller: Caller,
    @Param('scheduleId', pathId('uid')) scheduleId: string,
    @Body() body: UpdateScheduledAgentRequest,
  ): Promise<ScheduledAgentItem> {
    const result = await this.change.replace(caller, scheduleId, toRequestedSchedule(body));
    if (result.kind !== 'changed') throw scheduleRefusal(result);
    return this.presenter.one(caller, result.schedule);
  }

  @Delete(':scheduleId')
  @Authorize('schedules:read')
  @Operation({
    id: 'deleteScheduledAgent',
    summary: 'Delete a schedule',
    description: 'No run is started by it from this answer on. Runs that it has started go on.',
    tag: TAG,
    success: { status: 200, description: 'It is gone.', type: DeleteScheduledAgentResponse },
    errors: [400, 403, 404],
  })
  async deleteScheduledAgent(
    @CurrentCaller() caller: Caller,
    @Param('scheduleId', pathId('uid')) scheduleId: string,
  ): Promise<DeleteScheduledAgentResponse> {
    const result = await this.change.delete(caller, scheduleId);
    if (result.kind !== 'deleted') throw scheduleRefusal(result);
    return { success: true };
  }
}
