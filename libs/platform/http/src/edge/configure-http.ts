import type { Server } from 'node:http';
import { type NestApplicationOptions, NotFoundException, StreamableFile } from '@nestjs/common';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import helmet from 'helmet';
import type { Settings } from '#platform/config';
import { Metrics } from '#platform/observability';
import { ProblemWriter } from '../problems/problem-writer.js';
import { jsonBody } from './json-body.middleware.js';
import type { Listener } from './listener.js';
import { observe } from './observe.middleware.js';
import { parseQuery } from './parse-query.js';
import { pathOf, requestStateOf } from './request-state.js';
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

/** Authenticates a request by its headers alone; implemented by the auth library. */
export abstract class RequestAuthenticator {
  /** Stores the principal of the request, or throws a ProblemError `authentication_required`. */
  abstract authenticate(request: Request): Promise<void>;
}

/** Before the body parser: without a valid token no byte of a body is read, and unknown paths answer like known ones. */
function authentication(authenticator: RequestAuthenticator): RequestHandler {
  return (request, _response, next) => {
    const access = requestStateOf(request).route?.access;
    const open = access?.kind === 'public' || access?.kind === 'runner';
    const below = pathOf(request).startsWith(`${API_PREFIX}/`) || access !== undefined;
    if (open || !below) {
      next();
      return;
    }
    authenticator.authenticate(request).then(() => next(), next);
  };
}

const uncached: RequestHandler = (_request, response, next) => {
  response.setHeader('Cache-Control', 'no-store');
  next();
};

/** The order is: trace and log, security headers, caching, authentication, body. Call it before {@link serveHttp}. */
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
  // Responses depend on the token, and some contain secrets that are returned only once: no proxy may store them.
  app.use(API_PREFIX, uncached);
  app.use(authentication(app.get(RequestAuthenticator, { strict: false })));
  app.use(jsonBody);
}

/** Creates the routes, and answers requests that match none. */
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

export async function serveHttp(app: NestExpressApplication, listener: Listener): Promise<void> {
  await finishHttp(app);
  listener.serveUpgrades(app.get(Upgrades));
  listener.serve(app.getHttpAdapter().getInstance());
}
