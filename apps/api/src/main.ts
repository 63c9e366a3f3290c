import 'reflect-metadata';
import type { RequestListener } from 'node:http';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Express } from 'express';
import { hasLocalRunnerApi, type RunningApp, type Settings, withSettings } from '#platform/config';
import {
  API_PREFIX,
  configureHttp,
  httpAdapter,
  Listener,
  Readiness,
  serveDocument,
  serveHttp,
  Shutdown,
} from '#platform/http';
import { QueueConnections } from '#platform/jobs';
import { serveMetrics } from '#platform/observability';
import type { MetricsServer } from '#platform/kernel';
import type { LoadedPlugin } from '#platform/plugins';
import { ApiModule } from './app.module.js';
import { apiDocument } from './openapi.js';

const CLOSE_GRACE_MS = 5_000;

export interface RunningApi extends RunningApp {
  readonly url: string;
  /** URL of the metrics; null when they are not served. */
  readonly metricsUrl: string | null;
  /** For tests, which need its clock. */
  readonly app: NestExpressApplication;
}

export interface ApiOptions {
  /** A condition of `/health/ready` besides those of the API itself. */
  readonly isReady?: () => boolean;
}

/** The caller has migrated the database. Rejects when a part cannot start, and leaves nothing open then. */
export async function startApi(
  given: Settings,
  plugins: readonly LoadedPlugin[] = [],
  { isReady }: ApiOptions = {},
): Promise<RunningApi> {
  let settings = given;
  const listener = await Listener.open(given, {
    host: given.host,
    port: given.port,
    publicUrl: () => settings.publicUrl,
  });
  if (given.port === 0) settings = withRealPort(given, listener.port);
  let opened: NestExpressApplication | null = null;
  let metrics: MetricsServer | null = null;
  let runners: Listener | null = null;
  try {
    if (hasLocalRunnerApi(settings)) runners = await openLocalRunnerApi(settings);
    const app = await NestFactory.create<NestExpressApplication>(
      ApiModule.of(settings, plugins),
      httpAdapter(listener),
      {
        bodyParser: false,
        abortOnError: false,
        bufferLogs: false,
      },
    );
    opened = app;
    if (isReady) app.get(Readiness).require('start', isReady);
    configureHttp(app, settings);
    serveDocument(app, () => apiDocument(app));
    metrics = await serveMetrics(app, settings.metricsHost, settings.apiMetricsPort);
    const handler = await serveHttp(app, listener);
    if (runners) serveRunners(runners, handler, app.getHttpAdapter().getInstance());
    return {
      url: listener.url,
      metricsUrl: metrics?.url ?? null,
      app,
      beginShutdown: () => app.get(Readiness).drain(),
      close: async () => {
        await close(app, runners === null ? [listener] : [listener, runners]);
        metrics?.close();
      },
    };
  } catch (error) {
    await listener.close(0);
    await runners?.close(0);
    metrics?.close();
    await opened?.close();
    throw error;
  }
}

/** HTTP on loopback for the runners of this machine, beside an API that speaks HTTPS: see docs/adr/0023. */
const openLocalRunnerApi = (settings: Settings): Promise<Listener> =>
  Listener.open(settings, { host: '127.0.0.1', port: settings.runnerApiPort, usesTls: false });

/** The runner protocol, and health for operators who look for the reason when it cannot be reached. */
const RUNNER_PATHS = [`${API_PREFIX}/runner/`, '/health/'];

function serveRunners(listener: Listener, handler: RequestListener, application: Express): void {
  const serve: RequestListener = (request, response) => {
    if (RUNNER_PATHS.some((prefix) => request.url?.startsWith(prefix))) handler(request, response);
    else response.writeHead(404, { Connection: 'close' }).end();
  };
  listener.serve(serve, application);
}

/** A port of 0 becomes a number when the listener is open; addresses derived from it follow. */
function withRealPort(settings: Settings, port: number): Settings {
  return withSettings(settings, { port, publicUrl: settings.publicUrl.replace(/:0$/, `:${port}`) });
}

/** First not ready, then open requests end, then the listener closes, then everything behind it. */
async function close(app: NestExpressApplication, listeners: readonly Listener[]): Promise<void> {
  app.get(Readiness).drain();
  await app.get(Shutdown).begin();
  await Promise.all(listeners.map((listener) => listener.close(CLOSE_GRACE_MS)));
  const queues = app.get(QueueConnections, { strict: false });
  await app.close();
  await queues.end();
}
