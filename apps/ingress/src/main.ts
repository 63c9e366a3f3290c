import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { RunningApp, Settings } from '#libs/config';
import { httpAdapter, Listener, Readiness } from '#libs/http';
import { IngressModule } from './ingress.module.js';
import { writeProblem } from './ingress-problem.js';

/** How long deliveries that are being taken may last once the process goes down. */
const CLOSE_GRACE_MS = 5_000;

export interface RunningIngress extends RunningApp {
  readonly url: string;
}

/** Starts the ingress on `settings.ingressPort`. Rejects when the port cannot be had, and leaves nothing open then. */
export async function startIngress(settings: Settings): Promise<RunningIngress> {
  const listener = await Listener.open(settings, { host: settings.host, port: settings.ingressPort });
  listener.serve((_request, response) => {
    writeProblem(response, settings.publicUrl, 'resource_unavailable', 'The service is starting.');
  });
  let opened: NestExpressApplication | null = null;
  try {
    const app = await NestFactory.create<NestExpressApplication>(IngressModule.of(settings), httpAdapter(listener), {
      bodyParser: false,
      abortOnError: false,
      bufferLogs: false,
    });
    opened = app;
    app.disable('x-powered-by');
    app.set('etag', false);
    app.set('trust proxy', settings.trustedProxies.length > 0 ? [...settings.trustedProxies] : false);
    await app.init();
    listener.serve(app.getHttpAdapter().getInstance());
    return {
      url: listener.url,
      beginShutdown: () => app.get(Readiness).drain(),
      close: async () => {
        app.get(Readiness).drain();
        await listener.close(CLOSE_GRACE_MS);
        await app.close();
      },
    };
  } catch (error) {
    await listener.close(0);
    await opened?.close();
    throw error;
  }
}
