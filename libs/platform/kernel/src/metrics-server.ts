import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface MetricsServerOptions {
  readonly host: string;
  /** 0 selects a free one. */
  readonly port: number;
  readonly contentType: string;
  readonly render: () => Promise<string>;
  /** Answers `GET /healthz`: 200 and `healthy`, or 503. Absent: there is no such path. */
  readonly health?: () => { readonly healthy: boolean; readonly text: string };
}

export interface MetricsServer {
  /** `http://HOST:PORT/metrics` */
  readonly url: string;
  readonly port: number;
  close(): void;
}

/**
 * `GET /metrics` for Prometheus on a separate port, for processes whose other ports are public or that have none. It is
 * plain HTTP without a token, as it serves counts only, and does not keep the process alive. Rejects when the port is taken.
 */
export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const { host, contentType, render, health } = options;
  const server = createServer((request, response) => {
    const isHealth = health !== undefined && request.url === '/healthz';
    if (!isHealth && request.url !== '/metrics') return void response.writeHead(404).end();
    if (request.method !== 'GET') return void response.writeHead(405, { Allow: 'GET' }).end();
    if (isHealth) {
      const { healthy, text } = health();
      return void response.writeHead(healthy ? 200 : 503, { 'Content-Type': 'text/plain' }).end(`${text}\n`);
    }
    render().then(
      (text) => response.writeHead(200, { 'Content-Type': contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  server.listen(options.port, host);
  await once(server, 'listening');
  server.unref();
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}/metrics`,
    port,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
