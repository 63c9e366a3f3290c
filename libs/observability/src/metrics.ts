import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/**
 * The metrics of one application. Each has a registry of its own, because several applications may share a process.
 * Other rooms register theirs by asking for a metric of a name; asking twice gives the same one.
 */
@Injectable()
export class Metrics {
  readonly registry = new Registry();

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  counter<Label extends string>(name: string, help: string, labelNames: readonly Label[] = []): Counter<Label> {
    return (
      this.known<Counter<Label>>(name) ??
      new Counter({ name, help, labelNames: [...labelNames], registers: [this.registry] })
    );
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
