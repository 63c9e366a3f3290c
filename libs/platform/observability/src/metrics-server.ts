import { Logger } from '@nestjs/common';
import { type MetricsServer, startMetricsServer } from '#platform/kernel';
import type { Metrics } from './metrics.js';

/** Serves the metrics of a server process on a separate port; null without a port. Rejects when the port is taken. */
export async function serveMetrics(
  metrics: Metrics,
  { host, port }: { readonly host: string; readonly port: number | undefined },
): Promise<MetricsServer | null> {
  if (port === undefined) return null;
  const { contentType } = metrics.registry;
  const server = await startMetricsServer({ host, port, contentType, render: () => metrics.render() });
  new Logger('Metrics').log(`Metrics are served at ${server.url}.`);
  return server;
}
