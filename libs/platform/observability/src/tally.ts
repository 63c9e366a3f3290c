/** Counts of a few kinds of event for a hot path: an addition each, and no more until somebody asks for the metrics. */
export class Tally<Value extends string> {
  private readonly counts: Map<Value, { count: number }>;

  constructor(values: readonly Value[]) {
    this.counts = new Map(values.map((value) => [value, { count: 0 }]));
  }

  /** A value that was not named at the start is not counted: the set of labels stays what it is. */
  add(value: Value, by = 1): void {
    const known = this.counts.get(value);
    if (known) known.count += by;
  }

  entries(): readonly (readonly [value: Value, count: number])[] {
    return [...this.counts].map(([value, { count }]) => [value, count] as const);
  }
}
