import { performance } from 'node:perf_hooks';
import { Injectable, Logger } from '@nestjs/common';
import type { Histogram } from 'prom-client';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Metrics, runInContext } from '#platform/observability';
import { recordServerSpan } from './request-span.js';
import { pathOf, type RequestState } from './request-state.js';

const BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** Load balancers request these every few seconds: logged at debug level only. */
const DEBUG_ONLY = new Set(['/health/live', '/health/ready']);
const CLIENT_CLOSED = 499;

/** One metric and one log line for each request. */
@Injectable()
export class AccessLog {
  private readonly logger = new Logger('Http');
  private readonly duration: Histogram<'operation' | 'status'>;

  constructor(metrics: Metrics) {
    this.duration = metrics.histogram(
      'http_request_duration_seconds',
      'Duration of requests by operation and status.',
      ['operation', 'status'],
      BUCKETS,
    );
  }

  /** Called when the request begins; writes when its response is closed. */
  observe(request: IncomingMessage, response: ServerResponse, state: RequestState): void {
    const started = performance.now();
    response.once('close', () => {
      const seconds = (performance.now() - started) / 1000;
      const status = response.writableFinished ? response.statusCode : CLIENT_CLOSED;
      const { route, context } = state;
      this.duration.observe(
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
        if (DEBUG_ONLY.has(pathOf(request))) this.logger.debug('request', fields);
        // Clients repeat such requests: equal ones are counted, for which no duration and no path may differ.
        else if (status === 503)
          this.logger.warn('request', { ...fields, duration_ms: undefined, route: context.route });
        else this.logger.log('request', fields);
      });
      recordServerSpan(context, request, { route, status, seconds });
    });
  }
}
