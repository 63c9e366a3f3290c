/** So many at once, and not more than a part of them for one group: the others get their turn however slow it is. */
export class FairTurns {
  private readonly running = new Map<string, number>();
  private readonly waiting: { readonly group: string; readonly begin: () => void }[] = [];
  private total = 0;

  constructor(private readonly limits: { readonly all: number; readonly group: number }) {}

  /** Resolves when it is the asker's turn, with what ends the turn: to be called once. */
  async take(group: string): Promise<() => void> {
    if (this.hasRoom(group)) this.enter(group);
    else await new Promise<void>((begin) => this.waiting.push({ group, begin }));
    return () => this.leave(group);
  }

  private hasRoom(group: string): boolean {
    return this.total < this.limits.all && (this.running.get(group) ?? 0) < this.limits.group;
  }

  private enter(group: string): void {
    this.total += 1;
    this.running.set(group, (this.running.get(group) ?? 0) + 1);
  }

  private leave(group: string): void {
    this.total -= 1;
    const left = (this.running.get(group) ?? 0) - 1;
    if (left > 0) this.running.set(group, left);
    else this.running.delete(group);
    const next = this.waiting.findIndex((one) => this.hasRoom(one.group));
    const [chosen] = next === -1 ? [] : this.waiting.splice(next, 1);
    if (!chosen) return;
    this.enter(chosen.group);
    chosen.begin();
  }
}
