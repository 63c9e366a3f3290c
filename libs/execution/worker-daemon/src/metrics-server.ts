import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WorkerFault } from './backend.js';
import type { WorkerMetrics } from './metrics.js';

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
