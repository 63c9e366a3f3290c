import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { hasLocalRunnerApi, type RunningApp, type Settings, withSettings } from '#platform/config';
import { configureHttp, httpAdapter, Listener, Readiness, serveDocument, serveHttp, Shutdown } from '#platform/http';
import { QueueConnections } from '#platform/jobs';
import { Metrics, serveMetrics } from '#platform/observability';
import type { MetricsServer } from '#platform/kernel';
import { ApiModule } from './app.module.js';
import { apiDocument } from './openapi.js';
import { LocalRunnerApi } from './local-runner-api.js';

/** How long requests that are being answered may take once the process goes down. */
const CLOSE_GRACE_MS = 5_000;

export interface RunningApi extends RunningApp {
  readonly url: string;
  /** Where Prometheus reads; null without API_METRICS_PORT. */
  readonly metricsUrl: string | null;
  /** For tests, which reach into it for the clock. */
  readonly app: NestExpressApplication;
}

export interface ApiOptions {
  /** A condition of `/health/ready` besides those of the API itself. */
  readonly isReady?: () => boolean;
}

/**
 * Starts the API on `settings.port`; the caller has migrated the database. Rejects when the port is
 * not available or a part cannot start, and leaves nothing open then.
 */
export async function startApi(
  given: Settings,
  more: readonly Type[] = [],
  { isReady }: ApiOptions = {},
): Promise<RunningApi> {
  let settings = given;
  const listener = await Listener.open(given, {
    host: given.host,
    port: given.port,
    publicUrl: () => settings.publicUrl,
  });
  if (given.port === 0) settings = withRealPort(given, listener.port);
  let app: NestExpressApplication | null = null;
  let metrics: MetricsServer | null = null;
  let runners: LocalRunnerApi | null = null;
  try {
    if (hasLocalRunnerApi(settings)) runners = await LocalRunnerApi.open(settings);
    app = await NestFactory.create<NestExpressApplication>(ApiModule.of(settings, more), httpAdapter(listener), {
      bodyParser: false,
      abortOnError: false,
      bufferLogs: false,
    });
    const api = app;
    if (isReady) api.get(Readiness).require('start', isReady);
    configureHttp(api, settings);
    serveDocument(api, () => apiDocument(api));
    metrics = await serveMetrics(api.get(Metrics, { strict: false }), {
      host: settings.metricsHost,
      port: settings.apiMetricsPort,
    });
    await serveHttp(api, listener);
    runners?.serve(api.getHttpAdapter().getInstance());
    return {
      url: listener.url,
      metricsUrl: metrics?.url ?? null,
      app: api,
      beginShutdown: () => api.get(Readiness).drain(),
      close: async () => {
        await close(api, runners === null ? [listener] : [listener, runners.listener]);
        metrics?.close();
      },
    };
  } catch (error) {
    await listener.close(0);
    await runners?.listener.close(0);
    metrics?.close();
    await app?.close();
    throw error;
  }
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
