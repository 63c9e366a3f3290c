import { performance } from 'node:perf_hooks';
import { Logger } from '@nestjs/common';
import type { RequestHandler } from 'express';
import { type Metrics, newContext, runInContext } from '#platform/observability';
import { headerText, pathOf, type RequestState, setRequestState } from './request-state.js';
import type { RouteTable } from './route-table.js';

const BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** Load balancers request these every few seconds: logged at debug level only. */
const DEBUG_ONLY = new Set(['/health/live', '/health/ready']);

/** The first middleware: trace context, matched route, one metric and one log line per request. */
export function observe(routes: RouteTable, metrics: Metrics): RequestHandler {
  const logger = new Logger('Http');
  const duration = metrics.histogram(
    'http_request_duration_seconds',
    'Duration of requests by operation and status.',
    ['operation', 'status'],
    BUCKETS,
  );
  return (request, response, next) => {
    const started = performance.now();
    const path = pathOf(request);
    const context = newContext(headerText(request.headers.traceparent));
    const { route, values = [] } = routes.find(request.method, path) ?? {};
    context.route = `${request.method} ${route?.path ?? '(unknown)'}`;
    const state: RequestState = { context, route, values };
    setRequestState(request, state);
    response.setHeader('X-Trace-Id', context.traceId);
    response.once('close', () => {
      const seconds = (performance.now() - started) / 1000;
      const status = response.writableFinished ? response.statusCode : 499;
      duration.observe(
        { operation: route?.operation?.id ?? route?.handler ?? 'unknown', status: String(status) },
        seconds,
      );
      const fields = {
        method: request.method,
        status,
        duration_ms: Math.round(seconds * 1e5) / 100,
        ...(state.errorCode === undefined ? {} : { error_code: state.errorCode }),
        ...(state.rejection === undefined ? {} : { rejection: state.rejection }),
      };
      runInContext(context, () => {
        if (DEBUG_ONLY.has(path)) logger.debug('request', fields);
        // Clients repeat such requests: equal ones are counted, for which no duration and no path may differ.
        else if (status === 503) logger.warn('request', { ...fields, duration_ms: undefined, route: context.route });
        else logger.log('request', fields);
      });
    });
    runInContext(context, () => next());
  };
}
