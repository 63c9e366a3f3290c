import { Processor } from '@nestjs/bullmq';
import { handles, JobProcessor } from '#platform/jobs';
import { PLACE_RUNS_JOB } from './placement-jobs.js';
import { Placement } from './placement.js';

/** Takes nudges from the queue; ends as soon as the offers are made. */
@Processor(PLACE_RUNS_JOB.queue, { concurrency: 1, lockDuration: 10_000, stalledInterval: 5000, runRetryDelay: 500 })
export class PlacementProcessor extends JobProcessor {
  readonly handlers = [handles(PLACE_RUNS_JOB, () => this.placement.round())];

  constructor(private readonly placement: Placement) {
    super();
  }
}
