import type { IncomingMessage, ServerResponse } from 'node:http';
import { Logger, NotFoundException } from '@nestjs/common';
import type { Express, Request, Response } from 'express';
import helmet from 'helmet';
import type { Settings } from '#platform/config';
import { newContext, runInContext } from '#platform/observability';
import type { ProblemWriter } from '../problems/problem-writer.js';
import type { AccessLog } from './access-log.js';
import type { CompiledRoutes } from './compiled-routes.js';
import { addHeaders, setEdgeHeaders } from './edge-response.js';
import { readBodyBefore } from './json-body.js';
import { headerText, pathOf, type RequestState, setRequestState } from './request-state.js';
import { isTracedRequest } from './request-span.js';
import { API_PREFIX, type RouteTable } from './route-table.js';

/** Authenticates a request by its headers alone; implemented by the auth library. */
export abstract class RequestAuthenticator {
  /** Stores the principal of the request; null: it is stored. Rejects with a ProblemError `authentication_required`. */
  abstract authenticate(request: Request): Promise<void> | null;
}

/** A request target that the router of Express reads in another way than {@link pathOf}. */
const UNUSUAL = /^[^/]|[\s#\\\ufeff]/;
const isBelowPrefix = (path: string): boolean => path.startsWith(`${API_PREFIX}/`);
const NOT_STORED = ['Cache-Control', 'no-store'];

/** The same for all requests, so that they are computed once: names and values in turns. */
function securityHeaders(isHttps: boolean): readonly string[] {
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
  return [...headers].flat();
}

/**
 * What happens to every request before its operation: trace and log, security headers, caching, authentication, body. Without a
 * valid token no byte of a body is read, and unknown paths answer like known ones. Then it executes the compiled route, or the
 * application of Express. See docs/adr/0068.
 */
export class Edge {
  private readonly logger = new Logger(Edge.name);
  private readonly headers: readonly string[];

  constructor(
    private readonly application: Express,
    private readonly routes: RouteTable,
    private readonly compiled: CompiledRoutes,
    private readonly log: AccessLog,
    private readonly writer: ProblemWriter,
    private readonly authenticator: RequestAuthenticator,
    { publicUrl }: Settings,
  ) {
    this.headers = securityHeaders(publicUrl.startsWith('https:'));
  }

  /** The messages have the prototypes of the application: see `Listener.serve`. */
  handle(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const request = incoming as Request;
    const response = outgoing as Response;
    // As Express and its router do it.
    request.res = response;
    request.originalUrl = request.url;
    request.baseUrl = '';
    response.locals = Object.create(null) as typeof response.locals;
    try {
      const state = this.begin(request, response);
      runInContext(state.context, () => this.admit(request, response, state));
    } catch (error) {
      this.fail(request, response, error);
    }
  }

  private begin(request: Request, response: Response): RequestState {
    const path = pathOf(request);
    const traceparent = headerText(request.headers.traceparent);
    const context = newContext(traceparent, isTracedRequest(path, traceparent));
    const { route, values = [] } = this.routes.find(request.method, path) ?? {};
    context.route = `${request.method} ${route?.path ?? '(unknown)'}`;
    const state: RequestState = { context, route, values };
    setRequestState(request, state);
    addHeaders(response, this.headers);
    addHeaders(response, ['X-Trace-Id', context.traceId]);
    // Responses depend on the token, and some contain secrets that are returned only once: no proxy may store them.
    if (isBelowPrefix(path) || path === API_PREFIX || UNUSUAL.test(request.url)) addHeaders(response, NOT_STORED);
    this.log.observe(request, response, state);
    return state;
  }

  private admit(request: Request, response: Response, state: RequestState): void {
    const access = state.route?.access;
    const isOpen =
      access === undefined ? !isBelowPrefix(pathOf(request)) : access.kind === 'public' || access.kind === 'runner';
    this.proceed(request, response, isOpen ? null : this.authenticator.authenticate(request), () => {
      this.proceed(request, response, readBodyBefore(request), () => this.execute(request, response, state));
    });
  }

  /** Without waiting if there is nothing to wait for. */
  private proceed(request: Request, response: Response, step: Promise<void> | null, next: () => void): void {
    if (step === null) next();
    else step.then(next).catch((error: unknown) => this.fail(request, response, error));
  }

  private execute(request: Request, response: Response, { route, values }: RequestState): void {
    const handler = route && this.compiled.handlerOf({ route, values }, request);
    if (handler === undefined) {
      setEdgeHeaders(response);
      this.application(request, response);
    } else {
      // Methods of Express for files and formats report with it what they cannot do.
      request.next = (error: unknown = new NotFoundException()): void => this.fail(request, response, error);
      void handler(request, response, request.next);
    }
  }

  /** Never throws: nothing is left that could answer the request. */
  private fail(request: Request, response: Response, error: unknown): void {
    try {
      this.writer.write(request, response, error);
    } catch (cause) {
      this.logger.error(cause);
      response.destroy();
    }
  }
}
