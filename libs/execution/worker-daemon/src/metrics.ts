import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Counter, Gauge, Registry } from 'prom-client';
import { WorkerFault } from './backend.js';

export type TaskResult = 'completed' | 'failed' | 'lost';

/** Prometheus metrics of the daemon. */
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

/** `GET /metrics` for Prometheus, `GET /healthz` (200 while connected, else 503). Rejects with WorkerFault when the port is taken. */
export async function serveMetrics(
  { port, host }: { readonly port: number; readonly host: string },
  metrics: WorkerMetrics,
  isConnected: () => boolean,
): Promise<{ readonly port: number; readonly close: () => void }> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || (request.url !== '/metrics' && request.url !== '/healthz'))
      return void response.writeHead(404).end();
    if (request.url === '/healthz') {
      const healthy = isConnected();
      return void response
        .writeHead(healthy ? 200 : 503, { 'content-type': 'text/plain' })
        .end(healthy ? 'connected\n' : 'not connected\n');
    }
    metrics.registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': metrics.registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  await listen(server, port, host);
  server.unref();
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new WorkerFault(`Metrics cannot be served on ${host}:${port} (${error.code ?? 'unknown'}).`)),
    );
    server.listen(port, host, resolve);
  });
}
