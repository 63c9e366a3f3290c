import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { ExecutorRegistry } from '../application/executor-registry.js';
import { Executor, type Offer } from '../application/ports.js';

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
