import { Injectable } from '@nestjs/common';
import { ExecutorRegistry } from '../application/executors.js';
import { DockerExecutor } from './docker/docker-executor.js';
import { ProcessExecutor } from './process-executor.js';

/** The executors that every installation has. */
@Injectable()
export class BuiltInExecutors {
  constructor(registry: ExecutorRegistry, processes: ProcessExecutor, docker: DockerExecutor) {
    registry.register('process', processes);
    registry.register('docker', docker);
  }
}
