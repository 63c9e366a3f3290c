import { type INestApplicationContext, Logger } from '@nestjs/common';
import { type MetricsServer, startMetricsServer } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { observeDatabase } from './database-metrics.js';
import { Metrics } from './metrics.js';

/** Serves the metrics of an application on a separate port; null without a port. Rejects when the port is used. */
export async function serveMetrics(
  app: INestApplicationContext,
  host: string,
  port: number | undefined,
): Promise<MetricsServer | null> {
  if (port === undefined) return null;
  const metrics = app.get(Metrics, { strict: false });
  observeDatabase(metrics, app.get(Database, { strict: false }));
  const { contentType } = metrics.registry;
  // A response shows that the process is not blocked. It depends on nothing else: without the database a restart would not help.
  const health = () => ({ healthy: true, text: 'ok' });
  const server = await startMetricsServer({ host, port, contentType, render: () => metrics.render(), health });
  new Logger('Metrics').log(`Metrics are served at ${server.url}.`);
  return server;
}
