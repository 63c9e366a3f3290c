import { Injectable, Logger } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { LabeledCounter } from './labeled-counter.js';

/**
 * The metrics of one application. Each has a registry of its own, because several applications may share a process.
 * Other rooms register theirs by asking for a metric of a name; asking twice gives the same one.
 */
@Injectable()
export class Metrics {
  readonly registry = new Registry();
  private readonly logger = new Logger(Metrics.name);
  private readonly labeledCounters = new Map<string, LabeledCounter<string>>();

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  counter<Label extends string>(name: string, help: string, labelNames: readonly Label[] = []): Counter<Label> {
    return (
      this.known<Counter<Label>>(name) ??
      new Counter({ name, help, labelNames: [...labelNames], registers: [this.registry] })
    );
  }

  /** A counter with one label of few known values, for hot paths. All of them are shown, from 0. */
  labeledCounter<Value extends string>(
    name: string,
    help: string,
    label: string,
    values: readonly Value[],
  ): LabeledCounter<Value> {
    const known = this.labeledCounters.get(name);
    if (known) return known as LabeledCounter<Value>;
    const labeled = new LabeledCounter(values);
    this.labeledCounters.set(name, labeled);
    const counter: Counter = new Counter({
      ...{ name, help, labelNames: [label], registers: [this.registry] },
      collect: () => {
        counter.reset();
        for (const [value, count] of labeled.entries()) counter.inc({ [label]: value }, count);
      },
    });
    return labeled;
  }

  /** A gauge that is read when somebody asks for the metrics; NaN when that fails. */
  observed(name: string, help: string, read: () => number | Promise<number>): void {
    if (this.known(name)) return;
    const gauge: Gauge = new Gauge({
      ...{ name, help, registers: [this.registry] },
      collect: async () => {
        try {
          gauge.set(await read());
        } catch (error) {
          this.logger.warn(`${name} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
          gauge.set(Number.NaN);
        }
      },
    });
  }

  gauge<Label extends string>(name: string, help: string, labelNames: readonly Label[] = []): Gauge<Label> {
    return (
      this.known<Gauge<Label>>(name) ??
      new Gauge({ name, help, labelNames: [...labelNames], registers: [this.registry] })
    );
  }

  /** `buckets` in the unit that the name ends in, e.g. `_seconds`. */
  histogram<Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    buckets: readonly number[],
  ): Histogram<Label> {
    return (
      this.known<Histogram<Label>>(name) ??
      new Histogram({ name, help, labelNames: [...labelNames], buckets: [...buckets], registers: [this.registry] })
    );
  }

  /** The Prometheus text format. */
  render(): Promise<string> {
    return this.registry.metrics();
  }

  private known<T>(name: string): T | undefined {
    return this.registry.getSingleMetric(name) as T | undefined;
  }
}
