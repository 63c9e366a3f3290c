import { Injectable } from '@nestjs/common';
import { SettingsError } from '#platform/config';
import type { Executor } from './ports.js';

/** All executors that this installation knows; the setting EXECUTOR names the one that is used. */
@Injectable()
export class ExecutorRegistry {
  private readonly executors = new Map<string, Executor>();

  /** Throws when the name is taken. */
  register(name: string, executor: Executor): void {
    if (this.executors.has(name)) throw new Error(`The executor ${name} is registered twice.`);
    this.executors.set(name, executor);
  }

  /** Throws a SettingsError with the names that are known when there is none of this name. */
  get(name: string): Executor {
    const executor = this.executors.get(name);
    if (executor) return executor;
    throw new SettingsError([`EXECUTOR must be one of ${[...this.executors.keys()].join(', ')}; it is ${name}.`]);
  }
}
