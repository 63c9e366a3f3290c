import { Injectable } from '@nestjs/common';
import type { Queryable, Statement } from '#platform/persistence';

const AMONG: Statement = {
  name: 'runs.unfinished-among',
  text: `SELECT id FROM runs WHERE id = ANY($1::uuid[]) AND state IN ('QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS', 'BLOCKED')`,
};

/** Whether runs still go on, for rooms that start them. */
@Injectable()
export class UnfinishedRuns {
  /** Those of the ids that wait or work; no round trip for none. */
  async among(queryable: Queryable, ids: readonly string[]): Promise<ReadonlySet<string>> {
    if (ids.length === 0) return new Set();
    const rows = await queryable.query<{ id: string }>(AMONG, [ids]);
    return new Set(rows.map(({ id }) => id));
  }
}
