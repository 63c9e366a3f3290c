import { Module } from '@nestjs/common';
import { DockerExecutor } from './adapters/docker/docker-executor.js';
import { ExecutionQueries } from './adapters/execution-queries.js';
import { ProcessExecutor } from './adapters/process-executor.js';
import { ExecutionWork } from './application/execution-work.js';
import { ExecutorRegistry } from './application/executors.js';
import { ExecutionsModule } from './executions.module.js';

/** Where runs are executed, and who places and sweeps them. A module that adds an executor imports it and registers the executor with `ExecutorRegistry`. */
@Module({
  imports: [ExecutionsModule],
  providers: [ExecutorRegistry, ExecutionQueries, ProcessExecutor, DockerExecutor, ExecutionWork],
  exports: [ExecutionsModule, ExecutorRegistry, ExecutionWork],
})
export class ExecutorsModule {
  constructor(registry: ExecutorRegistry, processes: ProcessExecutor, docker: DockerExecutor) {
    registry.register('process', processes);
    registry.register('docker', docker);
  }
}
