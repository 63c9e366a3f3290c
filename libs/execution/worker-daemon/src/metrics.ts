import { Counter, Gauge, Registry } from 'prom-client';
import { type MetricsServer, startMetricsServer } from '#platform/kernel';
import { WorkerFault } from './worker-fault.js';

export type TaskResult = 'completed' | 'failed' | 'lost';

export class WorkerMetrics {
  readonly registry = new Registry();
  readonly connected = this.gauge('headrace_worker_connected', '1 while the worker is connected to its server.');
  readonly draining = this.gauge('headrace_worker_draining', '1 while the worker accepts no more tasks.');
  readonly active = this.gauge('headrace_worker_tasks_active', 'Tasks that execute now.');
  readonly unacknowledged = this.gauge(
    'headrace_worker_tasks_unacknowledged',
    'Ended tasks whose end the server has not acknowledged.',
  );
  readonly slots = this.gauge('headrace_worker_tasks_max_concurrent', 'Maximum number of concurrent tasks.');
  readonly claimed = this.counter('headrace_worker_tasks_claimed_total', 'Tasks that were claimed.');
  readonly rejected = this.counter(
    'headrace_worker_tasks_rejected_total',
    'Tasks that were rejected, for example at capacity.',
  );
  readonly disconnected = this.counter(
    'headrace_worker_disconnects_total',
    'Connections that were lost or could not be established.',
  );
  private readonly results = new Counter({
    name: 'headrace_worker_tasks_ended_total',
    help: 'Ended tasks, by the reported result.',
    labelNames: ['result'] as const,
    registers: [this.registry],
  });

  constructor(info: { readonly version: string; readonly backend: string; readonly worker_id: string }) {
    const gauge = new Gauge({
      name: 'headrace_worker_info',
      help: 'Constant 1, with the worker’s version, backend and name.',
      labelNames: ['version', 'backend', 'worker_id'] as const,
      registers: [this.registry],
    });
    gauge.set({ ...info }, 1);
  }

  ended(result: TaskResult): void {
    this.results.inc({ result });
  }

  private gauge(name: string, help: string): Gauge {
    return new Gauge({ name, help, registers: [this.registry] });
  }

  private counter(name: string, help: string): Counter {
    return new Counter({ name, help, registers: [this.registry] });
  }
}

/** `GET /metrics`, and `GET /healthz`: 200 while the worker is connected, else 503. Throws a WorkerFault when the port is taken. */
export async function serveMetrics(
  { host, port }: { readonly host: string; readonly port: number },
  { registry }: WorkerMetrics,
  isConnected: () => boolean,
): Promise<MetricsServer> {
  const { contentType } = registry;
  const render = (): Promise<string> => registry.metrics();
  const health = () => ({ healthy: isConnected(), text: isConnected() ? 'connected' : 'not connected' });
  return startMetricsServer({ host, port, contentType, render, health }).catch((error: NodeJS.ErrnoException) => {
    throw new WorkerFault(`Metrics cannot be served on ${host}:${port} (${error.code ?? 'unknown'}).`);
  });
}
