import { Injectable } from '@nestjs/common';
import { Metrics } from '#platform/observability';

export type DropReason = 'silent' | 'malformed' | 'too_many_frames' | 'slow_reader' | 'token_ended' | 'superseded';

@Injectable()
export class WorkerMetrics {
  readonly connections;
  /** By the status of the response. */
  readonly handshakes;
  readonly frames;
  readonly drops;

  constructor(metrics: Metrics) {
    this.connections = metrics.gauge('headrace_worker_connections', 'Open connections of self-hosted workers.');
    this.handshakes = metrics.counter(
      'headrace_worker_handshakes_total',
      'Requests for a worker’s connection, by the status they were answered with.',
      ['status'],
    );
    this.frames = metrics.counter(
      'headrace_worker_frames_total',
      'Frames from and to workers, by type; those not understood as unknown, invalid or malformed.',
      ['direction', 'type'],
    );
    this.drops = metrics.counter('headrace_worker_drops_total', 'Connections that the service has ended, by reason.', [
      'reason',
    ]);
  }
}
