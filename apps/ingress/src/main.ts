import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { RunningApp, Settings } from '#libs/config';
import { Readiness } from '#libs/http';
import { IngressModule } from './ingress.module.js';

/** Longer than the idle time of common proxies, which must never meet a connection that we are closing. */
const KEEP_ALIVE_MS = 75_000;
const MAX_HEADERS_MS = 15_000;
const CLOSE_GRACE_MS = 5_000;

/** Starts the ingress on `settings.ingressPort`. Rejects when the port cannot be had. */
export async function startIngress(settings: Settings): Promise<RunningApp> {
  const app = await NestFactory.create<NestExpressApplication>(IngressModule.of(settings), {
    bodyParser: false,
    abortOnError: false,
    bufferLogs: false,
    ...tls(settings),
  });
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('trust proxy', settings.trustedProxies.length > 0 ? [...settings.trustedProxies] : false);
  const server = app.getHttpServer();
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.requestTimeout = settings.requestTimeout;
  server.headersTimeout = Math.min(MAX_HEADERS_MS, settings.requestTimeout);
  try {
    await app.listen(settings.ingressPort, settings.host);
  } catch (error) {
    await app.close();
    throw error;
  }
  return {
    url: originOf(server, settings),
    beginShutdown: () => app.get(Readiness).drain(),
    close: async () => {
      app.get(Readiness).drain();
      await closeListener(server);
      await app.close();
    },
  };
}

function tls({ tlsCertFile, tlsKeyFile }: Settings): { httpsOptions?: { cert: Buffer; key: Buffer } } {
  return tlsCertFile === '' ? {} : { httpsOptions: { cert: readFileSync(tlsCertFile), key: readFileSync(tlsKeyFile) } };
}

function originOf(server: Server, { tlsCertFile, host }: Settings): string {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const name = host.includes(':') ? `[${host}]` : host;
  return `${tlsCertFile === '' ? 'http' : 'https'}://${name}:${port}`;
}

/** Lets requests that are being served end, but not for ever. */
function closeListener(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
    server.close(() => {
      clearTimeout(force);
      resolve();
    });
    server.closeIdleConnections();
  });
}
