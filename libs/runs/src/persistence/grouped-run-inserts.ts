import { Injectable } from '@nestjs/common';
import { Database, isDatabaseUnavailable, type Statement } from '#libs/persistence';
import { slotKey } from '../domain/run.js';
import type { NewRun } from './new-run.js';

/**
 * Runs and their first events in one statement and one round trip; `state = 'QUEUED'` makes each row its own queue entry.
 * `$1`: a JSON array, one object a run.
 */
const INSERT: Statement = {
  name: 'runs.create-group',
  text: `WITH t AS MATERIALIZED (SELECT headrace.now() AS at), n AS MATERIALIZED (
  SELECT * FROM json_to_recordset($1::json) AS n (ord int, id uuid, team_uid text, owner_user_uid text, slot_key text, pool text, title text,
    prompt text, source text, execution_location text, mode text, interactive boolean, creator_type text, creator_uid text,
    executor_type text, executor_uid text, config jsonb, metadata jsonb, parent_run_id uuid, conversation_id uuid)
), r AS (
  INSERT INTO runs (id, team_uid, owner_user_uid, slot_key, pool, state, title, prompt, source, execution_location, mode, interactive,
    creator_type, creator_uid, executor_type, executor_uid, config, metadata, parent_run_id, conversation_id, queued_at, created_at, updated_at)
  SELECT id, team_uid, owner_user_uid, slot_key, pool, 'QUEUED', title, prompt, source, execution_location, mode, interactive,
    creator_type, creator_uid, executor_type, executor_uid, config, metadata, parent_run_id, conversation_id, t.at, t.at, t.at FROM n, t
), e AS (
  INSERT INTO run_events (run_id, seq, kind, at, data)
  SELECT id, 1, 'run_created', t.at, jsonb_build_object('source', source, 'creator', jsonb_build_object('type', creator_type, 'uid', creator_uid)) FROM n, t
)
SELECT (SELECT bool_or(s.used >= s.capacity) FROM slot_pools s WHERE s.key IN ('pool:' || n.pool, n.slot_key)) AS at_capacity FROM n ORDER BY ord`,
};

/** Rows of one statement, and statements under way at once: what comes meanwhile waits for the next one, and shares it. */
const MAX_GROUP = 64;
const MAX_IN_FLIGHT = 2;

interface Waiting {
  readonly run: NewRun;
  readonly resolve: (atCapacity: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Commits runs that are created at the same time together. Nobody waits for company: with nothing under way a run goes
 * alone and at once. Under load one statement, one commit and one round trip serve many requests.
 */
@Injectable()
export class GroupedRunInserts {
  private waiting: Waiting[] = [];
  private inFlight = 0;

  constructor(private readonly database: Database) {}

  /** Whether the run's owner or pool had no slot left when it was committed. */
  insert(run: NewRun): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ run, resolve, reject });
      this.send();
    });
  }

  private send(): void {
    while (this.inFlight < MAX_IN_FLIGHT && this.waiting.length > 0) {
      const group = this.waiting.slice(0, MAX_GROUP);
      this.waiting = this.waiting.slice(group.length);
      this.inFlight += 1;
      void this.commit(group).finally(() => {
        this.inFlight -= 1;
        this.send();
      });
    }
  }

  private async commit(group: readonly Waiting[]): Promise<void> {
    try {
      const results = await this.write(group);
      group.forEach(({ resolve }, index) => resolve(results[index] ?? false));
    } catch (error) {
      // One row that the database refuses must not fail its neighbours; a database that is away fails them all.
      if (group.length === 1 || isDatabaseUnavailable(error)) group.forEach(({ reject }) => reject(error));
      else for (const one of group) await this.commit([one]);
    }
  }

  private async write(group: readonly Waiting[]): Promise<boolean[]> {
    const rows = await this.database.query<{ at_capacity: boolean | null }>(INSERT, [
      JSON.stringify(group.map(({ run }, ord) => toJson(run, ord))),
    ]);
    return rows.map((row) => row.at_capacity ?? false);
  }
}

function toJson(run: NewRun, ord: number): object {
  return {
    ord,
    id: run.id,
    team_uid: run.owner.teamUid,
    owner_user_uid: run.owner.userUid,
    slot_key: slotKey(run.owner),
    pool: run.pool,
    title: run.title,
    prompt: run.prompt,
    source: run.source,
    execution_location: run.executionLocation,
    mode: run.mode,
    interactive: run.interactive,
    creator_type: run.creator.type,
    creator_uid: run.creator.uid,
    executor_type: run.executor.type,
    executor_uid: run.executor.uid,
    config: run.config,
    metadata: run.metadata,
    parent_run_id: run.parentRunId,
    conversation_id: run.conversationId,
  };
}
