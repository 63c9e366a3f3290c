import type { Server } from 'node:http';
import { type NestApplicationOptions, NotFoundException } from '@nestjs/common';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import helmet from 'helmet';
import type { Settings } from '#platform/config';
import { Metrics } from '#platform/observability';
import { ProblemWriter } from '../problems/problem-writer.js';
import { jsonBody } from './json-body.middleware.js';
import type { Listener } from './listener.js';
import { observe } from './observe.middleware.js';
import { parseQuery } from './parse-query.js';
import { authentication, RequestGate } from './request-gate.js';
import { API_PREFIX, RouteTable } from './route-table.js';
import { Upgrades } from './upgrades.js';

/** Serves on a listener that is open already. */
class ListeningAdapter extends ExpressAdapter {
  constructor(
    application: Express,
    private readonly server: Server | null,
  ) {
    super(application);
  }

  override initHttpServer(options: NestApplicationOptions): void {
    if (this.server === null) super.initHttpServer(options);
    else this.httpServer = this.server;
  }
}

/**
 * For `NestFactory.create(…, httpAdapter(listener), { bodyParser: false })`. Router settings count only when they are
 * set before the router exists. Without a listener the
 * adapter makes a server of its own.
 */
export function httpAdapter(listener?: Listener): ExpressAdapter {
  const application = express();
  application.set('case sensitive routing', true);
  return new ListeningAdapter(application, listener?.server ?? null);
}

const uncached: RequestHandler = (_request, response, next) => {
  response.setHeader('Cache-Control', 'no-store');
  next();
};

/**
 * Everything between the socket and the controllers, in order: trace and log, security headers, caching, authentication, body.
 * Call it before {@link serveHttp}.
 */
export function configureHttp(app: NestExpressApplication, settings: Settings): void {
  const routes = app.get(RouteTable);
  app.setGlobalPrefix(API_PREFIX, { exclude: routes.routes.filter(({ outside }) => outside).map(({ path }) => path) });
  app.set('query parser', parseQuery);
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
  // Answers depend on the token, and some hold secrets that are returned once: nothing between us and the caller keeps them.
  app.use(API_PREFIX, uncached);
  app.use(authentication(app.get(RequestGate, { strict: false })));
  app.use(jsonBody());
}

/** Makes the routes, and answers what none of them takes. */
export async function finishHttp(app: NestExpressApplication): Promise<void> {
  await app.init();
  const writer = app.get(ProblemWriter);
  const unrouted: RequestHandler = (request, response) => writer.write(request, response, new NotFoundException());
  const failed: ErrorRequestHandler = (error: unknown, request, response, _next) =>
    writer.write(request, response, error);
  const application = app.getHttpAdapter().getInstance();
  application.use(unrouted);
  application.use(failed);
}

/** {@link finishHttp}, and then the requests are let in. */
export async function serveHttp(app: NestExpressApplication, listener: Listener): Promise<void> {
  await finishHttp(app);
  listener.serveUpgrades(app.get(Upgrades));
  listener.serve(app.getHttpAdapter().getInstance());
}
