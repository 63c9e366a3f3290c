import { Module } from '@nestjs/common';
import { ExecutorsModule } from '#execution/executions';
import { RunsWork } from './jobs/runs-work.js';
import { RunsModule } from './runs.module.js';

/** Background work: placement, sweep and maintenance of runs. */
@Module({ imports: [RunsModule, ExecutorsModule], providers: [RunsWork], exports: [RunsWork] })
export class RunsJobsModule {}
