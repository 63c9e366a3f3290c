import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { PageCursors } from '#platform/kernel';
import { foldTimeline, type TimelineEvent } from '../domain/timeline.js';
import { RunLogStore } from '../persistence/run-log.store.js';

export interface TimelinePage {
  readonly events: TimelineEvent[];
  readonly nextCursor: string | null;
}

/** A page of a run's timeline, oldest first. The caller's right to the run has been checked. */
@Injectable()
export class ReadTimeline {
  private readonly cursors: PageCursors;

  constructor(
    private readonly log: RunLogStore,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('timeline', settings);
  }

  async execute(runId: string, limit: number, cursor: string | null): Promise<TimelinePage | 'bad_cursor'> {
    const after = this.cursors.decode(cursor, runId);
    if (after === null) return 'bad_cursor';
    const rows = await this.log.readLifecycle(runId, Number(after[0] ?? 0), limit + 1);
    const { items, nextCursor } = this.cursors.page(rows, limit, runId, ({ seq }) => [seq]);
    return { events: foldTimeline(items), nextCursor };
  }
}
