import { Controller, Param, Post } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, pathId } from '#platform/http';
import { RunAgentResponse } from '#domain/runs';
import { ChangeSchedule } from '../application/change-schedule.js';
import { RunSchedule } from '../application/run-schedule.js';
import { ScheduledAgentItem } from './schedule.dto.js';
import { SchedulePresenter } from './schedule-presenter.js';
import { runScheduleRefusal, scheduleRefusal } from './schedule-refusals.js';

const TAG = 'Schedules';
const SUCCESS = { status: 200, description: 'The schedule as it is now.', type: ScheduledAgentItem };

@Controller('agent/schedules/:scheduleId')
export class ScheduleActionsController {
  constructor(
    private readonly change: ChangeSchedule,
    private readonly run: RunSchedule,
    private readonly presenter: SchedulePresenter,
  ) {}

  @Post('pause')
  @Authorize('schedules:read')
  @Operation({
    id: 'pauseScheduledAgent',
    summary: 'Pause a schedule',
    description: 'No run is started by it from this answer on, until it is resumed. One that is paused stays so.',
    tag: TAG,
    success: SUCCESS,
    errors: [400, 403, 404],
  })
  async pauseScheduledAgent(
    @CurrentCaller() caller: Caller,
    @Param('scheduleId', pathId('uid')) scheduleId: string,
  ): Promise<ScheduledAgentItem> {
    const result = await this.change.pause(caller, scheduleId);
    if (result.kind !== 'changed') throw scheduleRefusal(result);
    return this.presenter.one(caller, result.schedule);
  }

  @Post('resume')
  @Authorize('schedules:read')
  @Operation({
    id: 'resumeScheduledAgent',
    summary: 'Resume a schedule',
    description:
      'It starts runs again from its next due time on; what was due meanwhile is not made up for. One that is enabled stays so.',
    tag: TAG,
    success: SUCCESS,
    errors: [400, 403, 'feature_not_available', 404],
  })
  async resumeScheduledAgent(
    @CurrentCaller() caller: Caller,
    @Param('scheduleId', pathId('uid')) scheduleId: string,
  ): Promise<ScheduledAgentItem> {
    const result = await this.change.resume(caller, scheduleId);
    if (result.kind !== 'changed') throw scheduleRefusal(result);
    return this.presenter.one(caller, result.schedule);
  }

  @Post('run')
  @Authorize('schedules:read')
  @Operation({
    id: 'runScheduledAgent',
    summary: 'Start a run of a schedule now',
    description:
      'One run as at a due time, with the caller as its creator, also of a paused schedule. Due times and the overlap policy are not concerned. 400 where the schedule as it is saved can start no run.',
    tag: TAG,
    success: { status: 200, description: 'The run is queued.', type: RunAgentResponse },
    errors: [400, 403, 'feature_not_available', 404],
  })
  async runScheduledAgent(
    @CurrentCaller() caller: Caller,
    @Param('scheduleId', pathId('uid')) scheduleId: string,
  ): Promise<RunAgentResponse> {
    const result = await this.run.execute(caller, scheduleId);
    if (result.kind !== 'created') throw runScheduleRefusal(result);
    return {
      run_id: result.runId,
      task_id: result.runId,
      state: result.state,
      ...(result.atCapacity ? { at_capacity: true } : {}),
    };
  }
}
