import { Injectable } from '@nestjs/common';
import type { QueryResultRow } from 'pg';
import { Settings } from '#platform/config';
import { Database, GroupedStatement, type Statement, statement } from '#platform/persistence';
import type { WorkerReport } from '../domain/worker.js';

/** The state of a connection that changes while it is open. */
export interface PresenceState {
  readonly id: string;
  /** Milliseconds since its last frame. */
  readonly silentMs: number;
  readonly freeSlots: number | null;
  readonly draining: boolean;
  /** How many runs it accepts at once, learnt from its rejections; null: not known. */
  readonly knownSlots: number | null;
  /** Milliseconds for which it is offered no more than that; 0 for none. */
  readonly pausedMs: number;
}

export interface PresenceRow extends PresenceState {
  readonly teamUid: string;
  readonly workerHost: string;
  readonly accountUid: string;
  readonly instance: string;
  readonly connectedAt: Date;
  readonly report: WorkerReport | null;
}

/** All connections of one name. */
export interface ConnectedWorker {
  readonly worker_host: string;
  readonly connection_count: number;
  /** Of the oldest connection. */
  readonly connected_at: Date;
  readonly last_seen_at: Date;
}

const STATE = '"silentMs" float8, "freeSlots" int, draining boolean, "knownSlots" int, "pausedMs" float8';
const ago = (milliseconds: string): string => `headrace.now() - make_interval(secs => ${milliseconds} / 1000)`;
const UNTIL = `${ago('r."silentMs"')} + make_interval(secs => $2::float8 / 1000)`;
const PAUSED = `CASE WHEN r."pausedMs" > 0 THEN headrace.now() + make_interval(secs => r."pausedMs" / 1000) END`;

const PUT = statement('workers_put_connections')`
  INSERT INTO headrace.worker_connections AS w (id, team_uid, worker_host, instance, connected_at, last_seen_at, alive_until,
  free_slots, draining, known_slots, rejected_until, account_uid, worker_instance, version, backend, slots, harnesses, skills)
SELECT r.id, r."teamUid", r."workerHost", r.instance, r."connectedAt", ${ago('r."silentMs"')}, ${UNTIL},
  r."freeSlots", r.draining, r."knownSlots", ${PAUSED}, r."accountUid", r.report->>'instance_id', r.report->>'version', r.report->>'backend',
  (r.report->>'slots')::int, coalesce(r.report->'harnesses', '[]'), coalesce(r.report->'skills', '[]')
FROM jsonb_to_recordset($1::jsonb) AS r (id uuid, "teamUid" text, "workerHost" text, "accountUid" text, instance uuid,
  "connectedAt" timestamptz, report jsonb, ${STATE})
ON CONFLICT (id) DO UPDATE SET last_seen_at = excluded.last_seen_at, alive_until = excluded.alive_until,
  free_slots = excluded.free_slots, draining = excluded.draining, known_slots = excluded.known_slots, rejected_until = excluded.rejected_until,
  worker_instance = excluded.worker_instance, version = excluded.version, backend = excluded.backend,
  slots = excluded.slots, harnesses = excluded.harnesses, skills = excluded.skills`;

const TOUCH = statement('workers_touch_connections')`
  UPDATE headrace.worker_connections w SET last_seen_at = ${ago('r."silentMs"')}, alive_until = ${UNTIL},
  free_slots = r."freeSlots", draining = r.draining, known_slots = r."knownSlots", rejected_until = ${PAUSED}
FROM jsonb_to_recordset($1::jsonb) AS r (id uuid, ${STATE})
WHERE w.id = r.id RETURNING w.id`;

/** The process of the worker has connected again: its earlier connections are closed, whichever API process holds them. */
const SUPERSEDE = statement('workers_supersede_connections')`
  WITH gone AS (
  DELETE FROM headrace.worker_connections
  WHERE team_uid = $1 AND worker_host = $2 AND worker_instance = $3 AND id <> $4
    AND account_uid = $5 RETURNING id)
SELECT pg_notify('headrace_worker_superseded', id::text) FROM gone`;

/** The first call after a gap begins a new period. */
const REACHABLE = statement('workers_note_reachable')`
  INSERT INTO headrace.worker_reachability AS r (since, alive_until)
VALUES (headrace.now(), headrace.now() + make_interval(secs => $1::float8 / 1000))
ON CONFLICT (singleton) DO UPDATE SET alive_until = greatest(r.alive_until, excluded.alive_until),
  since = CASE WHEN r.alive_until < headrace.now() THEN excluded.since ELSE r.since END`;

const REMOVE = statement('workers_remove_connections')`
  DELETE FROM headrace.worker_connections WHERE id = ANY($1::uuid[])`;
const REMOVE_INSTANCE = statement('workers_remove_instance')`
  DELETE FROM headrace.worker_connections WHERE instance = $1`;
/** Long after they have expired, so that a process that was suspended for a while finds its rows. */
const REMOVE_DEAD = statement('workers_remove_dead')`
  DELETE FROM headrace.worker_connections WHERE alive_until < headrace.now() - interval '5 minutes'`;

const LIST = statement('workers_list_connected')`
  SELECT worker_host, count(*)::int AS connection_count, min(connected_at) AS connected_at, max(last_seen_at) AS last_seen_at
FROM headrace.worker_connections
WHERE team_uid = ANY($1::text[]) AND alive_until > headrace.now()
GROUP BY team_uid, worker_host ORDER BY worker_host, team_uid`;

export const SUPERSEDED_CHANNEL = 'headrace_worker_superseded';

/**
 * The rows of connections. Concurrent changes of many connections share a statement. One statement at a time, so that
 * changes are written in their order and two statements never wait for each other's rows.
 */
@Injectable()
export class PresenceStore {
  private readonly puts = this.grouped(async (rows: readonly PresenceRow[]) => {
    await this.inTurn(PUT, [JSON.stringify(latest(rows)), this.settings.workerHeartbeatTimeout]);
    return rows.map(() => null);
  });
  private readonly touches = this.grouped(async (states: readonly PresenceState[]) => {
    const values = [JSON.stringify(latest(states)), this.settings.workerHeartbeatTimeout];
    const found = new Set((await this.inTurn<{ id: string }>(TOUCH, values)).map(({ id }) => id));
    return states.map(({ id }) => found.has(id));
  });
  private readonly removals = this.grouped(async (ids: readonly string[]) => {
    await this.inTurn(REMOVE, [ids]);
    return ids.map(() => null);
  });
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
  ) {}

  async list(teamUids: readonly string[]): Promise<ConnectedWorker[]> {
    return this.database.query<ConnectedWorker>(LIST, [teamUids]);
  }

  put(row: PresenceRow): Promise<null> {
    return this.puts.execute(row);
  }

  /** False: the row no longer exists. */
  touch(state: PresenceState): Promise<boolean> {
    return this.touches.execute(state);
  }

  remove(id: string): Promise<null> {
    return this.removals.execute(id);
  }

  async removeInstance(instance: string): Promise<void> {
    await this.inTurn(REMOVE_INSTANCE, [instance]);
  }

  /** Records that workers can connect to this process; valid for `forMs`. */
  async noteReachable(forMs: number): Promise<void> {
    await this.database.query(REACHABLE, [forMs]);
  }

  async removeDead(): Promise<void> {
    await this.database.query(REMOVE_DEAD);
  }

  async supersede({ id, teamUid, workerHost, accountUid, report }: PresenceRow): Promise<void> {
    if (report !== null) await this.inTurn(SUPERSEDE, [teamUid, workerHost, report.instance_id, id, accountUid]);
  }

  private grouped<Item, Result>(run: (items: readonly Item[]) => Promise<Result[]>): GroupedStatement<Item, Result> {
    return new GroupedStatement(run, { maxGroup: 250, maxInFlight: 1 });
  }

  private inTurn<Row extends QueryResultRow>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    const result = this.last.then(() => this.database.query<Row>(statement, values));
    this.last = result.catch(() => undefined);
    return result;
  }
}

/** One statement cannot write a row twice. */
const latest = <Item extends PresenceState>(items: readonly Item[]): Item[] => [
  ...new Map(items.map((item) => [item.id, item])).values(),
];
