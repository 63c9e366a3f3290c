import { Global, type INestApplicationContext, Injectable, Logger, Module } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type MetricsServer, startMetricsServer } from '#platform/kernel';
import { LabeledCounter } from './labeled-counter.js';

/** A separate registry: several applications may share a process. Asking for a name twice returns the same metric. */
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
      this.known<Counter<Label>>(name) ?? new Counter({ ...this.options(name, help), labelNames: [...labelNames] })
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
      ...this.options(name, help),
      labelNames: [label],
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
      ...this.options(name, help),
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
    return this.known<Gauge<Label>>(name) ?? new Gauge({ ...this.options(name, help), labelNames: [...labelNames] });
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
      new Histogram({ ...this.options(name, help), labelNames: [...labelNames], buckets: [...buckets] })
    );
  }

  render(): Promise<string> {
    return this.registry.metrics();
  }

  private options(name: string, help: string) {
    return { name, help, registers: [this.registry] };
  }

  private known<T>(name: string): T | undefined {
    return this.registry.getSingleMetric(name) as T | undefined;
  }
}

/** Metrics for every library of one application. Logging needs no module, because Nest's `Logger` writes to the JsonLogger. */
@Global()
@Module({ providers: [Metrics], exports: [Metrics] })
export class ObservabilityModule {}

/** Serves the metrics of an application on a separate port; null without a port. Rejects when the port is used. */
export async function serveMetrics(
  app: INestApplicationContext,
  host: string,
  port: number | undefined,
): Promise<MetricsServer | null> {
  if (port === undefined) return null;
  const metrics = app.get(Metrics, { strict: false });
  const { contentType } = metrics.registry;
  const server = await startMetricsServer({ host, port, contentType, render: () => metrics.render() });
  new Logger('Metrics').log(`Metrics are served at ${server.url}.`);
  return server;
}
