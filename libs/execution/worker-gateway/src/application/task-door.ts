import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { WorkerTasks } from './worker-tasks.js';

/** Finds the application's {@link WorkerTasks}, which a room above this one provides. Without one it does not start. */
@Injectable()
export class TaskDoor implements OnModuleInit {
  private found: WorkerTasks | null = null;

  constructor(private readonly modules: ModuleRef) {}

  onModuleInit(): void {
    this.found = this.modules.get(WorkerTasks, { strict: false });
  }

  get tasks(): WorkerTasks {
    if (this.found === null) throw new Error('The application has not begun.');
    return this.found;
  }
}
