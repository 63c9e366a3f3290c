import { Injectable } from '@nestjs/common';
import { Metrics } from '#platform/observability';
import { type DeliveryAnswer, REFUSAL_REASONS } from './ingress-answer.js';

const RESULTS = ['accepted', 'duplicate', 'handshake', ...REFUSAL_REASONS, 'gone', 'unavailable', 'fault'] as const;
const LINES = ['own', 'shared', 'dropped'] as const;
/** Seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

/** What the ingress tells Prometheus: sums over all webhooks, nothing of any of them. */
@Injectable()
export class IngressMeters {
  private readonly results;
  private readonly lines;
  private readonly paced;
  private readonly seconds;
  private readonly yielded;
  private held = 0;

  constructor(private readonly metrics: Metrics) {
    this.results = metrics.tally(
      'headrace_ingress_requests_total',
      'Requests to addresses of webhooks, by how they were answered.',
      'result',
      RESULTS,
    );
    this.seconds = metrics.histogram(
      'headrace_ingress_delivery_seconds',
      'Time from the headers of an accepted delivery or a duplicate to its 202, with the arrival of its body.',
      [],
      BUCKETS,
    );
    this.paced = metrics.counter('headrace_ingress_refusals_paced_total', 'Refusals that had to wait for their turn.');
    metrics.observed('headrace_ingress_refusals_waiting', 'Refusals that wait for their turn.', () => this.held);
    this.yielded = metrics.counter(
      'headrace_ingress_bodies_yielded_total',
      'Bodies that were not read on because others needed their slot; answered 503.',
    );
    this.lines = metrics.tally(
      'headrace_ingress_rejections_logged_total',
      'Rejections for the delivery log: with a line of their own, in one they share for a minute, or dropped.',
      'line',
      LINES,
    );
  }

  /** `arrivedAt`: of the request, by `performance.now()`. */
  answered(answer: DeliveryAnswer, arrivedAt: number): void {
    switch (answer.kind) {
      case 'taken':
        this.results.add(answer.outcome);
        this.seconds.observe((performance.now() - arrivedAt) / 1000);
        return;
      case 'refused':
        this.results.add(answer.reason);
        return;
      case 'handshake':
      case 'gone':
        this.results.add(answer.kind);
    }
  }

  /** It was answered that something is wrong here. */
  failed(what: 'unavailable' | 'fault'): void {
    this.results.add(what);
  }

  refusalHeld(): void {
    this.paced.inc();
    this.held += 1;
  }

  refusalLetGo(): void {
    this.held -= 1;
  }

  bodyYielded(): void {
    this.yielded.inc();
  }

  /** `inUse`: how many bodies are in memory now. */
  watchBodies(inUse: () => number): void {
    this.metrics.observed('headrace_ingress_bodies', 'Bodies that arrive or wait for their answer.', inUse);
  }

  rejectionLogged(line: (typeof LINES)[number], occurrences = 1): void {
    this.lines.add(line, occurrences);
  }

  /** `waiting`: how many lines wait to be written now. */
  watchLines(waiting: () => number): void {
    this.metrics.observed(
      'headrace_ingress_rejection_lines_waiting',
      'Lines of rejections that wait to be written.',
      waiting,
    );
  }
}
