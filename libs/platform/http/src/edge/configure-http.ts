import type { IncomingMessage, Server, ServerResponse } from 'node:http';
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
import { CompiledRoutes } from './compiled-routes.js';
import { readBodyBefore } from './json-body.js';
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

/** A request target that the router of Express reads in another way than {@link pathOf}. */
const UNUSUAL = /^[^/]|[\s#\\\ufeff]/;

type Header = readonly [name: string, value: string];

/** The same for all requests, so that they are computed once. */
function securityHeaders(isHttps: boolean): readonly Header[] {
  const headers = new Map<string, string>();
  const recorder = {
    setHeader: (name: string, value: string) => headers.set(name, value),
    removeHeader: (name: string) => headers.delete(name),
  };
  const set = helmet({
    strictTransportSecurity: isHttps,
    contentSecurityPolicy: { directives: { upgradeInsecureRequests: isHttps ? [] : null } },
  });
  set({} as IncomingMessage, recorder as unknown as ServerResponse, () => undefined);
  return [...headers];
}

/**
 * What happens to every request before its operation: security headers, caching, authentication, body. Without a valid token no
 * byte of a body is read, and unknown paths answer like known ones.
 */
function edgeOf(
  authenticator: RequestAuthenticator,
  headers: readonly Header[],
  compiled: CompiledRoutes,
): RequestHandler {
  return (request, response, next) => {
    const { route, values } = requestStateOf(request);
    for (const [name, value] of headers) response.setHeader(name, value);
    const path = pathOf(request);
    const isBelow = path.startsWith(`${API_PREFIX}/`);
    // Responses depend on the token, and some contain secrets that are returned only once: no proxy may store them.
    if (isBelow || path === API_PREFIX || UNUSUAL.test(request.url)) response.setHeader('Cache-Control', 'no-store');
    const access = route?.access;
    const isOpen = access?.kind === 'public' || access?.kind === 'runner' || (!isBelow && access === undefined);
    const execute = (): void => {
      const handler = route && compiled.handlerOf({ route, values }, request);
      if (handler === undefined) next();
      else handler(request, response, next);
    };
    const read = (): void => {
      const body = readBodyBefore(request, response);
      if (body === null) execute();
      else body.then(execute, next);
    };
    if (isOpen) read();
    else authenticator.authenticate(request).then(read, next);
  };
}

/** The order is: trace and log, then the edge of {@link edgeOf}. Call it before {@link serveHttp}. */
export function configureHttp(app: NestExpressApplication, settings: Settings): void {
  const routes = app.get(RouteTable);
  app.setGlobalPrefix(API_PREFIX, { exclude: routes.routes.filter(({ outside }) => outside).map(({ path }) => path) });
  app.set('query parser', parseQuery);
  app.set('trust proxy', settings.trustedProxies.length > 0 ? [...settings.trustedProxies] : false);
  app.set('etag', false);
  app.disable('x-powered-by');
  const authenticator = app.get(RequestAuthenticator, { strict: false });
  const headers = securityHeaders(settings.publicUrl.startsWith('https:'));
  const compiled = app.get(CompiledRoutes);
  app.use(observe(routes, app.get(Metrics)));
  app.use(edgeOf(authenticator, headers, compiled));
}

/** Creates the routes, and answers requests that match none. */
export async function finishHttp(app: NestExpressApplication): Promise<void> {
  const application: Express = app.getHttpAdapter().getInstance();
  const own = application.router.stack.length;
  await app.init();
  app.get(CompiledRoutes).compile(application, own);
  const writer = app.get(ProblemWriter);
  const unrouted: RequestHandler = (request, response) => writer.write(request, response, new NotFoundException());
  const failed: ErrorRequestHandler = (error: unknown, request, response, _next) =>
    writer.write(request, response, error);
  application.use(unrouted);
  application.use(failed);
}

export async function serveHttp(app: NestExpressApplication, listener: Listener): Promise<void> {
  await finishHttp(app);
  listener.serveUpgrades(app.get(Upgrades));
  listener.serve(app.getHttpAdapter().getInstance());
}
