import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { BuiltInExecutors } from './adapters/built-in-executors.js';
import { ChosenExecutor } from './adapters/chosen-executor.js';
import { DockerExecutor } from './adapters/docker/docker-executor.js';
import { ExecutionFacts } from './adapters/execution-facts.js';
import { ProcessExecutor } from './adapters/process-executor.js';
import { ExecutorRegistry } from './application/executor-registry.js';
import { Executor } from './application/ports.js';
import { ExecutionsModule } from './executions.module.js';
import { Placement } from './jobs/placement.js';
import { PlacementProcessor } from './jobs/placement.processor.js';
import { Sweeper } from './jobs/sweeper.js';

/** Where runs are executed, and who places and sweeps them. A module that adds an executor imports it and registers the executor with `ExecutorRegistry`. */
@Module({
  imports: [ExecutionsModule, ScheduleModule.forRoot()],
  providers: [
    ExecutorRegistry,
    ExecutionFacts,
    ProcessExecutor,
    DockerExecutor,
    BuiltInExecutors,
    { provide: Executor, useClass: ChosenExecutor },
    Placement,
    PlacementProcessor,
    Sweeper,
  ],
  exports: [ExecutionsModule, ExecutorRegistry, Executor, Placement, Sweeper],
})
export class ExecutorsModule {}
