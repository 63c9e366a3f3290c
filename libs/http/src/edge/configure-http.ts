import type { NestExpressApplication } from '@nestjs/platform-express';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import helmet from 'helmet';
import { NotFoundException } from '@nestjs/common';
import type { Settings } from '#libs/config';
import { Metrics } from '#libs/observability';
import { ProblemWriter } from '../problems/problem-writer.js';
import { jsonBody } from './json-body.middleware.js';
import { observe } from './observe.middleware.js';
import { answerRawClientErrors } from './raw-client-error.js';
import { authentication, RequestGate } from './request-gate.js';
import { API_PREFIX, RouteTable } from './route-table.js';

const KEEP_ALIVE_MS = 75_000;
const MAX_HEADERS_MS = 15_000;

/** For `NestFactory.create(…, httpAdapter(), { bodyParser: false })`: router settings count only when set before the router exists. */
export function httpAdapter(): ExpressAdapter {
  const application = express();
  application.set('case sensitive routing', true);
  return new ExpressAdapter(application);
}

/**
 * Everything between the socket and the controllers, in order: trace and log, security headers, authentication, body.
 * Call it before {@link finishHttp}.
 */
export function configureHttp(app: NestExpressApplication, settings: Settings): void {
  const routes = app.get(RouteTable);
  app.setGlobalPrefix(API_PREFIX, { exclude: routes.routes.filter(({ outside }) => outside).map(({ path }) => path) });
  app.set('query parser', 'extended');
  app.set('trust proxy', settings.trustedProxies.length > 0 ? [...settings.trustedProxies] : false);
  app.set('etag', false);
  app.disable('x-powered-by');
  const https = settings.publicUrl.startsWith('https:');
  app.use(observe(routes, app.get(Metrics)));
  app.use(
    helmet({
      strictTransportSecurity: https,
      contentSecurityPolicy: { directives: { upgradeInsecureRequests: https ? [] : null } },
    }),
  );
  app.use(authentication(app.get(RequestGate, { strict: false })));
  app.use(jsonBody());
}

/** Makes the routes, and answers what none of them takes. */
export async function finishHttp(app: NestExpressApplication, settings: Settings): Promise<void> {
  await app.init();
  const writer = app.get(ProblemWriter);
  const unrouted: RequestHandler = (request, response) => writer.write(request, response, new NotFoundException());
  const failed: ErrorRequestHandler = (error: unknown, request, response, _next) => writer.write(request, response, error);
  const instance = app.getHttpAdapter().getInstance() as Express;
  instance.use(unrouted);
  instance.use(failed);
  const server = app.getHttpServer();
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.requestTimeout = settings.requestTimeout;
  server.headersTimeout = Math.min(MAX_HEADERS_MS, settings.requestTimeout);
  answerRawClientErrors(server, settings.publicUrl);
}
