import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Logger } from '@nestjs/common';
import type { Metrics } from './metrics.js';

export interface MetricsServer {
  /** `http://HOST:PORT/metrics` */
  readonly url: string;
  close(): void;
}

/**
 * `GET /metrics` for Prometheus on a port of its own, for processes whose other ports are public or that have none. Plain
 * HTTP, without a token: it holds counts only. Null without a port; 0 picks a free one. Rejects when it cannot be had.
 */
export async function serveMetrics(
  metrics: Metrics,
  { host, port }: { readonly host: string; readonly port: number | undefined },
): Promise<MetricsServer | null> {
  if (port === undefined) return null;
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') return void response.writeHead(404).end();
    if (request.method !== 'GET') return void response.writeHead(405, { Allow: 'GET' }).end();
    metrics.render().then(
      (text) => response.writeHead(200, { 'Content-Type': metrics.registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${address.port}/metrics`;
  new Logger('Metrics').log(`Metrics are served at ${url}.`);
  return {
    url,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
