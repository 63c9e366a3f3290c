/** A counter with one label of fixed values for a hot path: one addition for each event, and no other cost until the metrics are read. */
export class LabeledCounter<Value extends string> {
  private readonly counts: Map<Value, { count: number }>;

  constructor(values: readonly Value[]) {
    this.counts = new Map(values.map((value) => [value, { count: 0 }]));
  }

  /** A value that was not passed to the constructor is not counted, so that the number of labels is bounded. */
  add(value: Value, by = 1): void {
    const known = this.counts.get(value);
    if (known) known.count += by;
  }

  entries(): readonly (readonly [value: Value, count: number])[] {
    return [...this.counts].map(([value, { count }]) => [value, count] as const);
  }
}
