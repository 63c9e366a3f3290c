import { Module } from '@nestjs/common';
import { ChosenExecutor, Executor, ExecutorRegistry } from './application/executors.js';
import { DockerExecutor } from './adapters/docker/docker-executor.js';
import { ExecutionQueries } from './adapters/execution-queries.js';
import { ProcessExecutor } from './adapters/process-executor.js';
import { ExecutionsModule } from './executions.module.js';
import { Placement } from './jobs/placement.js';
import { Sweeper } from './jobs/sweeper.js';

/** Where runs are executed, and who places and sweeps them. A module that adds an executor imports it and registers the executor with `ExecutorRegistry`. */
@Module({
  imports: [ExecutionsModule],
  providers: [
    ExecutorRegistry,
    ExecutionQueries,
    ProcessExecutor,
    DockerExecutor,
    { provide: Executor, useClass: ChosenExecutor },
    Placement,
    Sweeper,
  ],
  exports: [ExecutionsModule, ExecutorRegistry, Executor, Placement, Sweeper],
})
export class ExecutorsModule {
  constructor(registry: ExecutorRegistry, processes: ProcessExecutor, docker: DockerExecutor) {
    registry.register('process', processes);
    registry.register('docker', docker);
  }
}
