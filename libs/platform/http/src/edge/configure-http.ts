import type { RequestListener, Server } from 'node:http';
import { type NestApplicationOptions, NotFoundException, StreamableFile } from '@nestjs/common';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Response } from 'express';
import { Settings } from '#platform/config';
import { ProblemWriter } from '../problems/problem-writer.js';
import { AccessLog } from './access-log.js';
import { CompiledRoutes } from './compiled-routes.js';
import { Edge, RequestAuthenticator } from './edge.js';
import type { Listener } from './listener.js';
import { parseQuery } from './parse-query.js';
import { API_PREFIX, RouteTable } from './route-table.js';
import { sendJson } from './send-json.js';
import { Upgrades } from './upgrades.js';

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

  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    const isJson = typeof body === 'object' && body !== null && !(body instanceof StreamableFile);
    // Nest hides the properties of errors.
    if (!isJson || body instanceof Error) return super.reply(response, body, statusCode);
    if (statusCode !== undefined) response.status(statusCode);
    return sendJson(response, body);
  }
}

/**
 * For `NestFactory.create(…, httpAdapter(listener), { bodyParser: false })`. Router settings have an effect only before the
 * router exists. Without a listener the adapter creates a server.
 */
export function httpAdapter(listener?: Listener): ExpressAdapter {
  const application = express();
  application.set('case sensitive routing', true);
  return new ListeningAdapter(application, listener?.server ?? null);
}

export function configureHttp(app: NestExpressApplication, settings: Settings): void {
  const routes = app.get(RouteTable);
  app.setGlobalPrefix(API_PREFIX, { exclude: routes.routes.filter(({ outside }) => outside).map(({ path }) => path) });
  app.set('query parser', parseQuery);
  app.set('trust proxy', settings.trustedProxies.length > 0 ? [...settings.trustedProxies] : false);
  app.set('etag', false);
  app.disable('x-powered-by');
}

/** Creates the routes. Requests that match none are answered by the application. */
async function finishHttp(app: NestExpressApplication): Promise<Edge> {
  const application: Express = app.getHttpAdapter().getInstance();
  const own = application.router.stack.length;
  await app.init();
  const compiled = app.get(CompiledRoutes);
  compiled.compile(application, own);
  const writer = app.get(ProblemWriter);
  const unrouted: RequestHandler = (request, response) => writer.write(request, response, new NotFoundException());
  const failed: ErrorRequestHandler = (error: unknown, request, response, _next) =>
    writer.write(request, response, error);
  application.use(unrouted);
  application.use(failed);
  const authenticator = app.get(RequestAuthenticator, { strict: false });
  return new Edge(
    application,
    app.get(RouteTable),
    compiled,
    app.get(AccessLog),
    writer,
    authenticator,
    app.get(Settings),
  );
}

/** Returns what handles requests, also those of other listeners. */
export async function serveHttp(app: NestExpressApplication, listener: Listener): Promise<RequestListener> {
  const edge = await finishHttp(app);
  const handler: RequestListener = (request, response) => edge.handle(request, response);
  listener.serveUpgrades(app.get(Upgrades));
  listener.serve(handler, app.getHttpAdapter().getInstance());
  return handler;
}
