import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { WorkerTasks } from './worker-tasks.js';

/** Finds the {@link WorkerTasks} of the application, which a library above this one provides. The start fails without it. */
@Injectable()
export class WorkerTasksProvider implements OnModuleInit {
  private found: WorkerTasks | null = null;

  constructor(private readonly modules: ModuleRef) {}

  onModuleInit(): void {
    this.found = this.modules.get(WorkerTasks, { strict: false });
  }

  get tasks(): WorkerTasks {
    if (this.found === null) throw new Error('The application has not started.');
    return this.found;
  }
}
