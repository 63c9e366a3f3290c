import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { type RunningApp, type Settings, withSettings } from '#platform/config';
import { httpAdapter, Listener, Readiness } from '#platform/http';
import { QueueConnections } from '#platform/jobs';
import { serveMetrics } from '#platform/observability';
import { IngressHandler, writeProblem } from '#domain/ingress';
import type { MetricsServer } from '#platform/kernel';
import type { LoadedPlugin } from '#platform/plugins';
import { IngressModule } from './ingress.module.js';

const CLOSE_GRACE_MS = 5_000;

export interface RunningIngress extends RunningApp {
  readonly url: string;
  /** URL of the metrics; null when they are not served. */
  readonly metricsUrl: string | null;
  /** For tests, which need its clock. */
  readonly app: NestExpressApplication;
}

/** Starts the ingress on `settings.ingressPort`. Rejects when the port is not available, and leaves nothing open then. */
export async function startIngress(given: Settings, plugins: readonly LoadedPlugin[] = []): Promise<RunningIngress> {
  const listener = await Listener.open(given, {
    host: given.host,
    port: given.ingressPort,
    requestTimeoutMs: given.ingressBodyTimeout,
    handlesExpectContinue: true,
    hidesTrace: true,
  });
  const settings = given.ingressPort === 0 ? withRealPort(given, listener.port) : given;
  listener.serve((_request, response) => {
    writeProblem(response, settings.publicUrl, 'resource_unavailable', 'The service is starting.', {
      'Retry-After': '1',
    });
  });
  let opened: NestExpressApplication | null = null;
  let metrics: MetricsServer | null = null;
  try {
    const app = await NestFactory.create<NestExpressApplication>(
      IngressModule.of(settings, plugins),
      httpAdapter(listener),
      {
        bodyParser: false,
        abortOnError: false,
        bufferLogs: false,
      },
    );
    opened = app;
    app.disable('x-powered-by');
    app.set('etag', false);
    app.set('query parser', () => ({}));
    app.set('trust proxy', settings.trustedProxies.length > 0 ? [...settings.trustedProxies] : false);
    await app.init();
    metrics = await serveMetrics(app, settings.metricsHost, settings.ingressMetricsPort);
    listener.serve(app.get(IngressHandler, { strict: false }).wrap(app.getHttpAdapter().getInstance()));
    return {
      url: listener.url,
      metricsUrl: metrics?.url ?? null,
      app,
      beginShutdown: () => app.get(Readiness).drain(),
      close: async () => {
        app.get(Readiness).drain();
        await listener.close(CLOSE_GRACE_MS);
        metrics?.close();
        const queues = app.get(QueueConnections, { strict: false });
        await app.close();
        await queues.end();
      },
    };
  } catch (error) {
    await listener.close(0);
    metrics?.close();
    await opened?.close();
    throw error;
  }
}

/** A port of 0 becomes a number when the listener is open; the address that senders sign follows. */
function withRealPort(settings: Settings, port: number): Settings {
  return withSettings(settings, {
    ingressPort: port,
    ingressPublicUrl: settings.ingressPublicUrl.replace(/:0$/, `:${port}`),
  });
}
