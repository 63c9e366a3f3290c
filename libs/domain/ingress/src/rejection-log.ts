import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Clock, newUuid } from '#platform/kernel';
import { Database, isDatabaseUnavailable, type Statement } from '#platform/persistence';
import type { OutcomeCode } from '#domain/webhooks';
import { IngressMeters } from './ingress-metrics.js';

export interface Rejection {
  readonly webhookId: string;
  readonly outcome: Extract<OutcomeCode, 'U' | 'J' | 'L'>;
  /** As far as it is known: a body that is too large is not read to its end. */
  readonly sizeBytes: number;
  readonly sourceIp: string;
  /** Asked only for a rejection with a line of its own. */
  readonly traceId: () => string;
}

interface Line extends Omit<Rejection, 'traceId'> {
  readonly traceId: string;
  readonly id: string;
  readonly at: Date;
  occurrences: number;
}

const FLUSH_MS = 250;
/** Rejections of one webhook that get a line each within a minute; the rest of the minute shares one a label. */
const LINES_PER_MINUTE = 20;
const MINUTE_MS = 60_000;
const LINES_AT_ONCE = 500;
/** Lines that wait for a database that is away; beyond that they are lost, and that is said. */
const MAX_WAITING = 20_000;
/** Whoever only says how much is coming can say anything. */
const MAX_SIZE = 2_147_483_647;

const WRITE: Statement = {
  name: 'ingress.rejections',
  text: `INSERT INTO headrace.webhook_deliveries AS d (webhook_id, id, outcome, occurrences, size_bytes, received_at, source_ip, trace_id)
SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::"char"[], $4::int[], $5::int[], $6::timestamptz[], $7::text[], $8::text[])
ON CONFLICT (webhook_id, id) DO UPDATE SET occurrences = d.occurrences + excluded.occurrences`,
};

interface Minute {
  readonly startsAt: number;
  lines: number;
  /** By label: the id of the line that stands for all the others of the minute. */
  readonly shared: Map<string, string>;
}

/**
 * Writes rejected deliveries into the log, in batches and never within a request: an attacker costs memory for a
 * moment and, by the cap, a bounded number of rows. What waits when the process is killed is lost; accepted deliveries
 * and duplicates never come this way.
 */
@Injectable()
export class RejectionLog implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(RejectionLog.name);
  private waiting = new Map<string, Line>();
  private minutes = new Map<string, Minute>();
  private lost = 0;
  private timer: NodeJS.Timeout | null = null;
  private flushing: Promise<void> | null = null;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly meters: IngressMeters,
  ) {
    meters.watchLines(() => this.waiting.size);
  }

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => void this.flush(), FLUSH_MS);
  }

  async onModuleDestroy(): Promise<void> {
    if (this.timer) clearInterval(this.timer);
    await this.flushing;
    await this.flush();
  }

  add(rejection: Rejection): void {
    const at = this.clock.now();
    const { id, kind } = this.lineFor(rejection, at);
    const known = this.waiting.get(id);
    const isDropped = !known && this.waiting.size >= MAX_WAITING;
    this.meters.rejectionLogged(isDropped ? 'dropped' : kind);
    if (known) known.occurrences += 1;
    else if (isDropped) this.lost += 1;
    else
      this.waiting.set(id, {
        ...rejection,
        traceId: rejection.traceId(),
        sizeBytes: Math.min(rejection.sizeBytes, MAX_SIZE),
        id,
        at,
        occurrences: 1,
      });
  }

  /** Never rejects: what cannot be written waits for the next time. */
  private flush(): Promise<void> {
    this.flushing ??= this.write().finally(() => {
      this.flushing = null;
    });
    return this.flushing;
  }

  private async write(): Promise<void> {
    this.forgetMinutes();
    while (this.waiting.size > 0) {
      const lines = [...this.waiting.values()].slice(0, LINES_AT_ONCE);
      for (const { id } of lines) this.waiting.delete(id);
      if (!(await this.writeLines(lines))) return;
    }
    if (this.lost > 0) this.logger.warn(`${this.lost} rejections could not be logged.`);
    this.lost = 0;
  }

  /** Whether the database is there. A line that it refuses is lost, and its neighbours are not. */
  private async writeLines(lines: readonly Line[]): Promise<boolean> {
    try {
      await this.database.query(WRITE, columnsOf(lines));
      return true;
    } catch (error) {
      if (isDatabaseUnavailable(error)) {
        this.putBack(lines);
        this.logger.warn(`${lines.length} rejections wait to be logged: the database does not answer.`);
        return false;
      }
      if (lines.length === 1) {
        this.meters.rejectionLogged('dropped', lines[0]?.occurrences);
        this.logger.error('A rejection cannot be logged.', error);
        return true;
      }
      for (const line of lines) if (!(await this.writeLines([line]))) return false;
      return true;
    }
  }

  private putBack(lines: readonly Line[]): void {
    for (const line of lines) {
      const newer = this.waiting.get(line.id);
      this.waiting.set(line.id, { ...line, occurrences: line.occurrences + (newer?.occurrences ?? 0) });
    }
  }

  /** A line of its own, or the one that the webhook's rejections of this kind share for the rest of the minute. */
  private lineFor({ webhookId, outcome }: Rejection, at: Date): { id: string; kind: 'own' | 'shared' } {
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

  private forgetMinutes(): void {
    const now = this.clock.now().getTime();
    for (const [webhookId, { startsAt }] of this.minutes)
      if (now - startsAt >= MINUTE_MS) this.minutes.delete(webhookId);
  }
}

function columnsOf(lines: readonly Line[]): unknown[] {
  return [
    lines.map(({ webhookId }) => webhookId),
    lines.map(({ id }) => id),
    lines.map(({ outcome }) => outcome),
    lines.map(({ occurrences }) => occurrences),
    lines.map(({ sizeBytes }) => sizeBytes),
    lines.map(({ at }) => at),
    lines.map(({ sourceIp }) => sourceIp),
    lines.map(({ traceId }) => traceId),
  ];
}
