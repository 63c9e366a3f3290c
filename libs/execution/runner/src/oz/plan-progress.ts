import type { PlanEntry } from '@agentclientprotocol/sdk';

/** A plan whose entries move on in step with the actions that follow it. */
export class PlanProgress {
  private done = 0;

  /** @param actions how many actions follow. */
  constructor(
    private readonly entries: readonly string[],
    private readonly actions: number,
  ) {}

  /** One more action is behind us. */
  advance(): void {
    this.done += 1;
  }

  finish(): void {
    this.done = this.actions;
  }

  view(): PlanEntry[] {
    const completed =
      this.done >= this.actions ? this.entries.length : Math.floor((this.done * this.entries.length) / this.actions);
    return this.entries.map((content, index) => ({
      content,
      priority: 'medium',
      status: index < completed ? 'completed' : index === completed ? 'in_progress' : 'pending',
    }));
  }
}
