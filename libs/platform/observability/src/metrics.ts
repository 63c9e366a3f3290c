import { Global, Injectable, Logger, Module } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { within } from '#platform/kernel';
import { LabeledCounter } from './labeled-counter.js';

/** Shorter than the time that Prometheus waits for all metrics of a process, 10 s. */
const READ_TIMEOUT_MS = 5_000;

/** A value of one of the gauges that are read together. */
export interface Sample<Name extends string = string> {
  readonly gauge: Name;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

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

  /** A gauge that is read when somebody asks for the metrics; without a value when that fails. */
  observed(name: string, help: string, read: () => number | Promise<number>): void {
    this.observedTogether({ [name]: { help } }, async () => [{ gauge: name, value: await read() }]);
  }

  /**
   * Gauges that one call of `read` returns together when somebody asks for the metrics. They have no values when it fails or takes
   * longer than {@link READ_TIMEOUT_MS}: an old value would look like one of now.
   */
  observedTogether<Name extends string>(
    gauges: Readonly<Record<Name, { readonly help: string; readonly labelNames?: readonly string[] }>>,
    read: () => Promise<readonly Sample<Name>[]>,
  ): void {
    const names = Object.keys(gauges) as Name[];
    if (names.some((name) => this.known(name))) return;
    let reading: Promise<readonly Sample<Name>[]> | null = null;
    // The registry asks all metrics at the same time.
    const readOnce = (): Promise<readonly Sample<Name>[]> =>
      (reading ??= within(READ_TIMEOUT_MS, read(), (): never => {
        throw new Error(`no answer within ${READ_TIMEOUT_MS} ms`);
      })
        .catch((error: unknown) => {
          this.logger.warn(`${names.join(', ')}: ${error instanceof Error ? error.message : String(error)}`);
          return [];
        })
        .finally(() => {
          reading = null;
        }));
    for (const name of names) {
      const { help, labelNames = [] } = gauges[name];
      const gauge: Gauge = new Gauge({
        ...this.options(name, help),
        labelNames: [...labelNames],
        collect: async () => {
          const samples = await readOnce();
          gauge.reset();
          // A gauge without labels is 0 after that.
          if (labelNames.length === 0) gauge.remove();
          for (const sample of samples) if (sample.gauge === name) gauge.set(sample.labels ?? {}, sample.value);
        },
      });
    }
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
