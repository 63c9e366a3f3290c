import { type ArgumentsHost, Catch, type ExceptionFilter, Injectable, Logger, NotFoundException } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Settings } from '#platform/config';
import { runInContext } from '#platform/observability';
import { sqlState } from '#platform/persistence';
import { pathOf, requestStateOf } from '../edge/request-state.js';
import { API_PREFIX, RouteTable } from '../edge/route-table.js';
import { problemHeaders, toProblemDocument } from './problem.dto.js';
import { ProblemError } from './problem-error.js';
import { toProblemError } from './to-problem-error.js';

const MAX_DATABASE_MESSAGE = 200;
/** Path of webhooks on the ingress, which has a separate listener. */
const INGRESS_PREFIX = '/webhooks/w/';

/** Answers a request with the problem document of the thrown error, and logs errors of the server. */
@Injectable()
export class ProblemWriter {
  private readonly logger = new Logger(ProblemWriter.name);

  constructor(
    private readonly settings: Settings,
    private readonly routes: RouteTable,
  ) {}

  write(request: Request, response: Response, error: unknown): void {
    const problem = error instanceof NotFoundException ? this.unrouted(request) : toProblemError(error);
    const state = requestStateOf(request);
    state.errorCode = problem.code;
    runInContext(state.context, () => this.log(problem));
    if (response.headersSent) {
      // The status is sent already; a broken connection shows the client that the response is not complete.
      response.destroy();
      return;
    }
    response.removeHeader('Content-Disposition');
    response.status(problem.status).set(problemHeaders(problem));
    const document = toProblemDocument(problem, {
      publicUrl: this.settings.publicUrl,
      instance: pathOf(request),
      traceId: state.context.traceId,
    });
    response.end(JSON.stringify(document));
  }

  /** The problem of a request without a route: the path is unknown, or allows other methods only. */
  private unrouted(request: Request): ProblemError {
    const allowed = this.routes.methodsOf(pathOf(request));
    if (allowed.length === 0)
      return new ProblemError('resource_not_found', this.noRoute(request.method, pathOf(request)));
    const list = allowed.join(', ');
    return new ProblemError('method_not_allowed', `Method ${request.method} is not allowed; allowed: ${list}.`, {
      headers: { Allow: list },
    });
  }

  private noRoute(method: string, path: string): string {
    if (path.startsWith(INGRESS_PREFIX))
      return `No route matches this path. Deliveries of webhooks are sent to the ingress, at ${this.settings.ingressPublicUrl}${INGRESS_PREFIX}<uid>.`;
    if (path.startsWith(`${API_PREFIX}/`)) return 'No route matches this path.';
    const meant = this.routes.match(method, API_PREFIX + path);
    const hint = meant === undefined ? '' : ` Did you mean ${API_PREFIX}${path}?`;
    return `No route matches this path. Paths of the API begin with ${API_PREFIX}.${hint}`;
  }

  private log(problem: ProblemError): void {
    if (problem.status < 500) return;
    const cause = problem.options.cause;
    const fields = { error_code: problem.code, stack: cause instanceof Error ? describe(cause) : problem.stack };
    if (problem.status === 503) this.logger.warn(problem.detail, fields);
    else this.logger.error(cause instanceof Error ? loggedMessage(cause) : problem.detail, fields);
  }
}

/** The stack with the stacks of its causes. Properties are left out, because a failed query has its parameters there. */
function describe(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${describe(error.cause)}` : '';
  const { stack = '', message } = error;
  return `${stack === '' ? loggedMessage(error) : stack.replace(message, () => loggedMessage(error))}${cause}`;
}

/** Messages of PostgreSQL contain values that it could not parse. Callers sent them, so they must not be logged. */
export function loggedMessage(error: Error): string {
  if (sqlState(error) === null) return error.message;
  return error.message.replace(/: ".*$/s, ': …').slice(0, MAX_DATABASE_MESSAGE);
}

@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly writer: ProblemWriter) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.writer.write(http.getRequest<Request>(), http.getResponse<Response>(), error);
  }
}
