import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { BackgroundTasks, defineTask, type PeriodicTask } from '#platform/jobs';
import { Clock, newUuid } from '#platform/kernel';
import { Metrics } from '#platform/observability';
import { Database, isDatabaseUnavailable, statement } from '#platform/persistence';
import type { OutcomeCode } from '#domain/webhooks';
import { IngressMetrics } from './ingress-metrics.js';
import type { IngressRequest } from './ingress-request.js';

type RejectionCode = Extract<OutcomeCode, 'U' | 'J' | 'L'>;

interface Line {
  readonly id: string;
  readonly webhookId: string;
  readonly outcome: RejectionCode;
  readonly sizeBytes: number;
  readonly sourceIp: string;
  readonly traceId: string;
  readonly at: Date;
  occurrences: number;
}

const WRITE_REJECTIONS_TASK = defineTask({
  name: 'write-rejections',
  library: 'ingress',
  process: 'ingress',
  scope: 'process',
  period: 250,
  description: 'Writes rejected deliveries into the delivery log, in batches.',
});
/** Rejections of one webhook that get a line each within a minute; the others of the minute share one line for each label. */
const LINES_PER_MINUTE = 20;
const MINUTE_MS = 60_000;
const BATCH_LINES = 500;
/** Lines that are kept while the database is unavailable; further lines are dropped, which is logged. */
const MAX_WAITING = 20_000;
/** A declared size can be any number; the column is an integer. */
const MAX_SIZE = 2_147_483_647;

const WRITE = statement('ingress.rejections')`
  INSERT INTO headrace.webhook_deliveries AS d (webhook_id, id, outcome, occurrences, size_bytes, received_at, source_ip, trace_id)
SELECT * FROM jsonb_to_recordset($1) AS l ("webhookId" bigint, id uuid, outcome "char", occurrences int, "sizeBytes" int,
  at timestamptz, "sourceIp" text, "traceId" text)
ON CONFLICT (webhook_id, id) DO UPDATE SET occurrences = d.occurrences + excluded.occurrences`;

interface Minute {
  readonly startsAt: number;
  lines: number;
  /** By label: the id of the line that counts all further rejections of the minute. */
  readonly shared: Map<string, string>;
}

/**
 * Writes rejected deliveries to the delivery log, in batches and never within a request: an attacker costs memory for a
 * moment and a bounded number of rows. Lines that are not written yet are lost when the process is killed; accepted
 * deliveries and duplicates are never written this way.
 */
@Injectable()
export class RejectionLog implements OnModuleDestroy {
  private readonly logger = new Logger(RejectionLog.name);
  private waiting = new Map<string, Line>();
  private minutes = new Map<string, Minute>();
  private lost = 0;
  private readonly writing: PeriodicTask;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly metrics: IngressMetrics,
    registry: Metrics,
    tasks: BackgroundTasks,
  ) {
    this.writing = tasks.implement(WRITE_REJECTIONS_TASK, () => this.write());
    registry.observed(
      'headrace_ingress_rejection_log_lines_waiting',
      'Lines of rejected deliveries that are not written yet.',
      () => this.waiting.size,
    );
  }

  async onModuleDestroy(): Promise<void> {
    await this.writing.stop();
    await this.write();
  }

  add(request: IngressRequest, webhookId: string, outcome: RejectionCode): void {
    const at = this.clock.now();
    const { id, kind } = this.lineFor(webhookId, outcome, at);
    const known = this.waiting.get(id);
    const isDropped = !known && this.waiting.size >= MAX_WAITING;
    this.metrics.lines.add(isDropped ? 'dropped' : kind);
    if (known) known.occurrences += 1;
    else if (isDropped) this.lost += 1;
    else {
      const sizeBytes = Math.min(request.tooLargeBytes ?? request.body?.length ?? 0, MAX_SIZE);
      const { sourceIp, traceId } = request;
      this.waiting.set(id, { id, webhookId, outcome, sizeBytes, sourceIp, traceId, at, occurrences: 1 });
    }
  }

  /** Never rejects: lines that cannot be written are kept for the next run. */
  private async write(): Promise<void> {
    this.dropOldMinutes();
    while (this.waiting.size > 0) {
      const lines = [...this.waiting.values()].slice(0, BATCH_LINES);
      for (const { id } of lines) this.waiting.delete(id);
      if (!(await this.writeLines(lines))) return;
    }
    if (this.lost > 0)
      this.logger.warn(`${this.lost} rejections were not logged: too many were waiting for the database.`);
    this.lost = 0;
  }

  /** False while the database is unavailable. A line that it refuses is dropped alone. */
  private async writeLines(lines: readonly Line[]): Promise<boolean> {
    try {
      await this.database.query(WRITE, [JSON.stringify(lines)]);
      return true;
    } catch (error) {
      if (isDatabaseUnavailable(error)) {
        this.requeue(lines);
        this.logger.warn(`${lines.length} rejections are not logged yet: the database is unavailable.`);
        return false;
      }
      if (lines.length === 1) {
        this.metrics.lines.add('dropped', lines[0]?.occurrences);
        this.logger.error('A rejection could not be logged.', error);
        return true;
      }
      for (const line of lines) if (!(await this.writeLines([line]))) return false;
      return true;
    }
  }

  private requeue(lines: readonly Line[]): void {
    for (const line of lines) {
      const newer = this.waiting.get(line.id);
      this.waiting.set(line.id, { ...line, occurrences: line.occurrences + (newer?.occurrences ?? 0) });
    }
  }

  /** A separate line, or the line that rejections of the webhook with this label share for the rest of the minute. */
  private lineFor(webhookId: string, outcome: RejectionCode, at: Date): { id: string; kind: 'own' | 'shared' } {
    const now = at.getTime();
    let minute = this.minutes.get(webhookId);
    if (!minute || now - minute.startsAt >= MINUTE_MS) {
      minute = { startsAt: now, lines: 0, shared: new Map() };
      this.minutes.set(webhookId, minute);
    }
    minute.lines += 1;
    if (minute.lines <= LINES_PER_MINUTE) return { id: newUuid(), kind: 'own' };
    const shared = minute.shared.get(outcome) ?? newUuid();
    minute.shared.set(outcome, shared);
    return { id: shared, kind: 'shared' };
  }

  private dropOldMinutes(): void {
    const now = this.clock.now().getTime();
    for (const [webhookId, { startsAt }] of this.minutes)
      if (now - startsAt >= MINUTE_MS) this.minutes.delete(webhookId);
  }
}
