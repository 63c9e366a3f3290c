import type { IncomingMessage } from 'node:http';
import { recordRequest, type RequestContext } from '#platform/observability';
import { API_PREFIX, type Route } from './route-table.js';

const RUNNER_PREFIX = `${API_PREFIX}/runner/`;
const HEALTH_PREFIX = '/health/';
/** The standard ones; any text may be sent as a method. */
const METHODS: readonly unknown[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/**
 * Probes say nothing, and the spans of a run say what the requests of its runner have reported: each of thousands would be a trace.
 * A runner sends `traceparent` with the request for another run.
 */
export const isTracedRequest = (path: string, traceparent: string | undefined): boolean =>
  !path.startsWith(HEALTH_PREFIX) &&
  (!path.startsWith(RUNNER_PREFIX) || (traceparent !== undefined && path.endsWith('/runs')));

/** By the semantic conventions of HTTP. Paths can contain secrets, so the path is the one of the route. */
export function recordServerSpan(
  context: RequestContext,
  request: IncomingMessage,
  { route, status, seconds }: { readonly route: Route | undefined; readonly status: number; readonly seconds: number },
): void {
  if (context.trace === undefined) return;
  const { method = '' } = request;
  const knownMethod = METHODS.includes(method) ? method : '_OTHER';
  const name = knownMethod === '_OTHER' ? 'HTTP' : method;
  recordRequest(context, seconds * 1000, {
    name: route === undefined ? name : `${name} ${route.path}`,
    kind: 'server',
    attributes: {
      'http.request.method': knownMethod,
      'http.route': route?.path,
      'http.response.status_code': status,
      'url.path': route?.path,
      'url.scheme': 'encrypted' in request.socket ? 'https' : 'http',
    },
    errorType: status >= 500 ? String(status) : undefined,
  });
}
