import { Injectable } from '@nestjs/common';
import { Settings, SettingsError } from '#platform/config';

export interface Offer {
  readonly executionId: string;
  readonly runId: string;
}

/** Makes sure that nothing of an execution is left on its machine once the runner has gone. */
export abstract class Executor {
  /** False: nothing can be started for the time being, and runs are better left in the queue. */
  get isReady(): boolean {
    return true;
  }
  /** How many more runners may be started now; fewer while runners take long to claim their executions. */
  startCapacity(): Promise<number> {
    return Promise.resolve(Number.POSITIVE_INFINITY);
  }
  abstract launch(offer: Offer): void;
  /** Clears what an earlier process left behind; resolves before the first launch. */
  abstract prepare(): Promise<void>;
  /** Lets what works finish within `graceMs`, then hands back or ends the rest. Nothing runs afterwards. */
  abstract drain(graceMs: number): Promise<void>;
}

/** All executors that this installation knows; the setting EXECUTOR names the one that is used. */
@Injectable()
export class ExecutorRegistry {
  private readonly executors = new Map<string, Executor>();

  constructor(private readonly settings: Settings) {}

  register(name: string, executor: Executor): void {
    if (this.executors.has(name)) throw new Error(`The executor ${name} is registered twice.`);
    this.executors.set(name, executor);
  }

  /** The executor that EXECUTOR names, looked up when it is used, because others register theirs while modules start. */
  get chosen(): Executor {
    const name = this.settings.executor;
    const executor = this.executors.get(name);
    if (executor) return executor;
    throw new SettingsError([`EXECUTOR must be one of ${[...this.executors.keys()].join(', ')}; it is ${name}.`]);
  }
}
