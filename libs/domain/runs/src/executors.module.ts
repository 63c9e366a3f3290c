import { Module } from '@nestjs/common';
import { AgentsModule } from '#domain/agents';
import { EnvironmentsModule } from '#domain/environments';
import { BuiltInExecutors } from './adapters/built-in-executors.js';
import { ChosenExecutor } from './adapters/chosen-executor.js';
import { DockerExecutor } from './adapters/docker/docker-executor.js';
import { EnvironmentImages } from './adapters/docker/environment-images.js';
import { ExecutionFacts } from './adapters/execution-facts.js';
import { ProcessExecutor } from './adapters/process-executor.js';
import { ExecutorRegistry } from './application/executor-registry.js';
import { Executor } from './application/ports.js';
import { RunsModule } from './runs.module.js';

/** Where runs are carried out. Who brings another executor imports this, and registers it with `ExecutorRegistry`. */
@Module({
  imports: [RunsModule, AgentsModule, EnvironmentsModule],
  providers: [
    ExecutorRegistry,
    ExecutionFacts,
    EnvironmentImages,
    ProcessExecutor,
    DockerExecutor,
    BuiltInExecutors,
    { provide: Executor, useClass: ChosenExecutor },
  ],
  exports: [ExecutorRegistry, Executor],
})
export class ExecutorsModule {}
