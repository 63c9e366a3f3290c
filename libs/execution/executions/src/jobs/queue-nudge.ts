import { Injectable } from '@nestjs/common';
import { BackgroundTasks } from '#platform/jobs';
import { PlacementNudge } from '../application/executors.js';
import { PLACE_RUNS_TASK } from './placement-jobs.js';

@Injectable()
export class QueueNudge extends PlacementNudge {
  constructor(private readonly tasks: BackgroundTasks) {
    super();
  }

  override nudge(): void {
    this.tasks.wake(PLACE_RUNS_TASK);
  }
}
