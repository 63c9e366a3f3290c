import { Injectable } from '@nestjs/common';
import { Metrics } from '#platform/observability';
import { type IngressAnswer, REJECTION_REASONS } from './ingress-answer.js';

const RESULTS = [
  'accepted',
  'duplicate',
  'handshake',
  ...REJECTION_REASONS,
  'disconnected',
  'unavailable',
  'fault',
] as const;
const LINES = ['own', 'shared', 'dropped'] as const;
/** Seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

/** Prometheus metrics of the ingress: sums over all webhooks, no label identifies one. */
@Injectable()
export class IngressMetrics {
  private readonly seconds;
  readonly results;
  readonly lines;
  readonly throttled;
  readonly interrupted;

  constructor(metrics: Metrics) {
    this.results = metrics.labeledCounter(
      'headrace_ingress_requests_total',
      'Requests to webhook addresses, by result.',
      'result',
      RESULTS,
    );
    this.seconds = metrics.histogram(
      'headrace_ingress_delivery_seconds',
      'Time from the headers of an accepted delivery or a duplicate to its 202 response, including the transfer of its body.',
      [],
      BUCKETS,
    );
    this.throttled = metrics.counter('headrace_ingress_rejections_throttled_total', 'Rejections that were delayed.');
    this.interrupted = metrics.counter(
      'headrace_ingress_bodies_aborted_total',
      'Bodies that were interrupted because another body needed their slot; answered with 503.',
    );
    this.lines = metrics.labeledCounter(
      'headrace_ingress_rejections_logged_total',
      'Rejections for the delivery log: with a separate line, in a line that is shared for a minute, or dropped.',
      'line',
      LINES,
    );
  }

  /** `arrivedAt`: of the request, by `performance.now()`. */
  answered(answer: IngressAnswer, arrivedAt: number): void {
    switch (answer.kind) {
      case 'recorded':
        this.results.add(answer.outcome);
        this.seconds.observe((performance.now() - arrivedAt) / 1000);
        return;
      case 'rejected':
        this.results.add(answer.reason);
        return;
      case 'handshake':
        this.results.add('handshake');
        return;
      case 'disconnected':
        this.results.add('disconnected');
    }
  }
}
