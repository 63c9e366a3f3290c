import { InjectQueue } from '@nestjs/bullmq';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { CoalescedNudges } from '#platform/jobs';
import { PlacementNudge } from '../application/executors.js';
import { PLACE_RUNS_JOB } from './placement-jobs.js';

const COALESCE_MS = 10;

@Injectable()
export class QueueNudge extends PlacementNudge implements OnModuleDestroy {
  private readonly nudges: CoalescedNudges;

  constructor(@InjectQueue(PLACE_RUNS_JOB.queue) queue: Queue) {
    super();
    this.nudges = new CoalescedNudges(queue, PLACE_RUNS_JOB, COALESCE_MS);
  }

  override nudge(): void {
    this.nudges.nudge();
  }

  onModuleDestroy(): Promise<void> {
    return this.nudges.close();
  }
}
