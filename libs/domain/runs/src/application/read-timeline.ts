import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { CursorCodec } from '#platform/kernel';
import { projectTimeline, type TimelineEvent } from '../domain/timeline.js';
import { RunLogStore } from '#execution/executions';

export interface TimelinePage {
  readonly events: TimelineEvent[];
  readonly nextCursor: string | null;
}

/** A page of a run's timeline, oldest first. The caller's right to the run has been checked. */
@Injectable()
export class ReadTimeline {
  private readonly cursors: CursorCodec;

  constructor(
    private readonly log: RunLogStore,
    settings: Settings,
  ) {
    this.cursors = new CursorCodec(`timeline cursors ${settings.secretsKey ?? ''}`);
  }

  async execute(runId: string, limit: number, cursor: string | null): Promise<TimelinePage | 'bad_cursor'> {
    const after = cursor === null ? [0] : this.cursors.decode(cursor, runId);
    if (after === null) return 'bad_cursor';
    const rows = await this.log.readLifecycle(runId, Number(after[0]), limit + 1);
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return {
      events: projectTimeline(page),
      nextCursor: rows.length > limit && last ? this.cursors.encode([last.seq], runId) : null,
    };
  }
}
