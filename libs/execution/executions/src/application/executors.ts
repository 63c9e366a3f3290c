import { Injectable } from '@nestjs/common';
import { Settings, SettingsError } from '#platform/config';

/** Tells the processor that runs may be placed now: a run was created, or a slot was freed. A hint; never throws. */
export abstract class PlacementNudge {
  abstract nudge(): void;
}

export interface Offer {
  readonly executionId: string;
  readonly runId: string;
}

/**
 * Where a run is placed. An executor starts a runner for the offer and makes sure that nothing of the execution is
 * left on its machine once the runner has gone.
 */
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

/** The executor that EXECUTOR names. It is looked up when it is used: others register theirs while modules start. */
@Injectable()
export class ChosenExecutor extends Executor {
  constructor(
    private readonly registry: ExecutorRegistry,
    private readonly settings: Settings,
  ) {
    super();
  }

  override get isReady(): boolean {
    return this.chosen.isReady;
  }

  override startCapacity(): Promise<number> {
    return this.chosen.startCapacity();
  }

  override launch(offer: Offer): void {
    this.chosen.launch(offer);
  }

  override prepare(): Promise<void> {
    return this.chosen.prepare();
  }

  override drain(graceMs: number): Promise<void> {
    return this.chosen.drain(graceMs);
  }

  private get chosen(): Executor {
    return this.registry.get(this.settings.executor);
  }
}
