import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { PruneRuns } from '#domain/runs';
import { type RunState, RunTail } from '#execution/executions';
import { ObjectDisposal, ObjectStore } from '#platform/storage';
import { ArtifactBuilder, TestRunner } from '#testing';
import { LiveClient } from './live-client.js';
import { ApiFixture } from '../../support/api-fixture.js';
import { lockOfRun } from '../../support/api-requests.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const ENDED: readonly RunState[] = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
const TRANSCRIPT = '{"type":"text","text":"Done."}\n';

let fixture: ApiFixture;
let store: ObjectStore;

beforeAll(async () => {
  fixture = await ApiFixture.start({
    settings: { retainTranscripts: 2 * DAY, retainTimelines: 4 * DAY, retainRuns: 10 * DAY },
  });
  store = fixture.api.app.get(ObjectStore);
});
afterAll(() => fixture.close());
afterEach(() => expect(fixture.api.log.errors).toEqual([]));

/** What a round of the processor does. Returns how many runs were pruned, by kind. */
async function round(): Promise<Record<string, number>> {
  const prune = fixture.api.app.get(PruneRuns, { strict: false });
  const pruned: Record<string, number> = {};
  for (const kind of prune.kinds) {
    for (let hasMore = true; hasMore;) {
      const step = await prune.step(kind);
      ({ hasMore } = step);
      pruned[kind] = (pruned[kind] ?? 0) + step.pruned;
    }
  }
  return pruned;
}
const get = (status: number, path: string) => fixture.request(status, `GET ${path}`, { token: fixture.member.token });
const build = (state: RunState, more: object = {}) =>
  fixture.runs.build({ by: fixture.member, team: fixture.team, state, ...more });
const countOf = async (table: string, runId: string): Promise<number> => {
  const [row] = await fixture.database.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM ${table} WHERE run_id = $1`,
    [runId],
  );
  return row?.n ?? 0;
};
/** Every table that names runs in a column of that name, the log's partitions through their parent. */
const tablesOfRuns = async (): Promise<string[]> => {
  const rows = await fixture.database.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE c.relnamespace = 'headrace'::regnamespace AND c.relkind IN ('r','p') AND NOT c.relispartition
        AND a.attname = 'run_id' AND c.relname <> 'retention_walks' ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
};
const isStored = async (key: string): Promise<boolean> => {
  const found = await store.get(key);
  found?.stream.destroy();
  return found !== null;
};
const keyOf = async (runId: string): Promise<string> => {
  const [row] = await fixture.database.query<{ key: string }>(
    `SELECT transcript->>'key' AS key FROM runs WHERE id = $1`,
    [runId],
  );
  return row?.key ?? '';
};

describe('RETENTION_TRANSCRIPTS', () => {
  it('deletes the transcripts of ended runs when they expire, and keeps the runs', async () => {
    const ended = await Promise.all(ENDED.map((state) => build(state, { conversation: true, transcript: TRANSCRIPT })));
    const going = await Promise.all(
      [
        { state: 'INPROGRESS' as const },
        { state: 'BLOCKED' as const },
        { state: 'SUCCEEDED' as const, session: 'idle' },
      ].map(({ state, ...more }) => build(state, { transcript: TRANSCRIPT, ...more })),
    );
    await fixture.api.advanceClock(2 * DAY - HOUR);
    expect(await round()).toMatchObject({ transcripts: 0 });
    for (const { id } of ended) await get(302, `/agent/runs/${id}/transcript`);
    await fixture.api.advanceClock(2 * HOUR);
    const [first = { id: '' }] = ended;
    const key = await keyOf(first.id);
    const link = (await get(302, `/agent/runs/${first.id}/transcript`)).headers.get('location') ?? '';

    expect(await round()).toEqual({ runs: 0, transcripts: ended.length, timelines: 0 });
    for (const { id } of ended) {
      expect((await get(404, `/agent/runs/${id}/transcript`)).body.detail).toBe('The run has no transcript.');
      await get(200, `/agent/runs/${id}`);
    }
    for (const { id } of going) await get(302, `/agent/runs/${id}/transcript`);

    // Links that were handed out a moment ago work on; afterwards the object goes.
    expect((await fetch(link)).status).toBe(200);
    const disposal = fixture.api.app.get(ObjectDisposal);
    expect(await disposal.sweep()).toBe(0);
    await fixture.api.advanceClock(fixture.api.settings.signedUrlTtl + 61_000);
    expect(await disposal.sweep()).toBe(ended.length);
    expect(await isStored(key)).toBe(false);
  });

  it('deletes the transcript of a run later when a session was open at its expiry', async () => {
    const { id, executionId } = await build('SUCCEEDED', { session: 'idle', transcript: TRANSCRIPT });
    await fixture.api.advanceClock(3 * DAY);
    await round();
    await get(302, `/agent/runs/${id}/transcript`);
    // The session closes; nothing about the run itself changes.
    await fixture.database.query(
      `UPDATE executions SET phase = 'ended', ended_at = headrace.now(), idle_since = NULL, end_reason = 'closed' WHERE id = $1`,
      [executionId],
    );
    expect(await round()).toMatchObject({ transcripts: 1 });
    await get(404, `/agent/runs/${id}/transcript`);
  });
});

describe('RETENTION_TIMELINE', () => {
  it('deletes timeline and conversation, and a run that continues starts without them', async () => {
    const { id } = await build('SUCCEEDED');
    const before = (await get(200, `/agent/runs/${id}`)).body;
    expect((await get(200, `/agent/runs/${id}/timeline`)).body.events).not.toEqual([]);
    await get(200, `/agent/runs/${id}/conversation`);
    expect(await countOf('conversation_folds', id)).toBeGreaterThan(0);
    await fixture.api.advanceClock(4 * DAY + HOUR);
    await round();
    expect((await get(200, `/agent/runs/${id}/timeline`)).body).toMatchObject({ events: [] });
    expect((await get(404, `/agent/runs/${id}/conversation`)).body.detail).toContain('retention');
    expect(await countOf('conversation_folds', id)).toBe(0);
    expect((await get(200, `/agent/runs/${id}`)).body).toEqual(before);

    await fixture.request(200, `POST /agent/runs/${id}/followups`, {
      token: fixture.member.token,
      body: { message: 'And now?' },
    });
    const runner = await TestRunner.take(fixture.api, id);
    await runner.startAgent();
    await runner.report(
      ['turn_started', { turn_id: 't2', prompt: 'And now?' }],
      ['turn_ended', { turn_id: 't2', stop_reason: 'end_turn' }],
    );
    expect((await get(200, `/agent/runs/${id}/timeline`)).body.events.length).toBeGreaterThan(0);
    expect((await get(200, `/agent/runs/${id}/conversation`)).body.steps).not.toEqual([]);
    await runner.finish();
  });
});

describe('a reader during retention', () => {
  /** What happens just before, or just after, the reader asks to store what it has made of the log. */
  function atSave(when: 'before' | 'after', happens: () => Promise<unknown>): void {
    const log = fixture.api.app.get(RunTail, { strict: false });
    const holdWhole = log.holdWhole.bind(log);
    vi.spyOn(log, 'holdWhole').mockImplementationOnce(async (tx, runId) => {
      if (when === 'before') await happens();
      const held = await holdWhole(tx, runId);
      if (when === 'after') await happens();
      return held;
    });
  }
  const readConversation = (id: string) => get(200, `/agent/runs/${id}/conversation`);
  /** Live readers store what they have folded only when it was much. */
  async function readLive(id: string): Promise<void> {
    await fixture.database.query(
      `INSERT INTO run_events (run_id, seq, execution_id, kind, at, data)
       SELECT run_id, last_seq + n, NULL, 'message_chunk', headrace.now(), '{"message_id": "m", "text": "x"}'
         FROM run_heads, generate_series(1, 2000) n WHERE run_id = $1`,
      [id],
    );
    await fixture.database.query('UPDATE run_heads SET last_seq = last_seq + 2000 WHERE run_id = $1', [id]);
    const client = await LiveClient.watch(fixture.api, id, { token: fixture.member.token });
    await client.closed;
    expect(client.of('conversation')).not.toEqual([]);
  }
  const readers = [
    ['conversation', readConversation],
    ['live events', readLive],
  ] as const;
  async function oldRun(): Promise<string> {
    const { id } = await build('SUCCEEDED');
    await fixture.api.advanceClock(4 * DAY + HOUR);
    return id;
  }

  it.each(readers)('%s does not store a projection of a log that was pruned since it was read', async (_name, read) => {
    const id = await oldRun();
    atSave('before', round);
    await read(id);
    expect(await countOf('run_events', id)).toBe(0);
    expect(await countOf('conversation_folds', id)).toBe(0);
    await get(404, `/agent/runs/${id}/conversation`);
  });

  it.each(readers)('%s does not store a projection of a deleted run', async (_name, read) => {
    const id = await oldRun();
    atSave('before', async () => {
      await fixture.api.advanceClock(10 * DAY);
      await round();
    });
    await read(id);
    await get(404, `/agent/runs/${id}`);
    expect(await countOf('conversation_folds', id)).toBe(0);
  });

  it.each(readers)('%s stores nothing while the log is being pruned, and does not wait', async (_name, read) => {
    const id = await oldRun();
    const pruning = new pg.Client({ connectionString: fixture.database.url });
    await pruning.connect();
    try {
      await pruning.query(`BEGIN; ${lockOfRun(id)}`);
      await read(id);
      expect(await countOf('conversation_folds', id)).toBe(0);
    } finally {
      await pruning.end();
    }
    await round();
  });

  it.each(readers)('%s delays the retention of a run whose projection it is about to store', async (_name, read) => {
    const id = await oldRun();
    atSave('after', round);
    await read(id);
    expect(await countOf('run_events', id)).toBeGreaterThan(0);
    expect(await countOf('conversation_folds', id)).toBeGreaterThan(0);
    await fixture.api.advanceClock(HOUR);
    await round();
    expect(await countOf('run_events', id)).toBe(0);
    expect(await countOf('conversation_folds', id)).toBe(0);
  });

  it('does not store an outdated projection when the run has continued', async () => {
    const id = await oldRun();
    atSave('before', async () => {
      await round();
      await fixture.database.query(
        `INSERT INTO run_events (run_id, seq, execution_id, kind, at, data)
         SELECT run_id, last_seq + 1, NULL, 'message_chunk', headrace.now(), '{"message_id": "m", "text": "x"}'
           FROM run_heads WHERE run_id = $1`,
        [id],
      );
    });
    await readConversation(id);
    expect(await countOf('run_events', id)).toBe(1);
    expect(await countOf('conversation_folds', id)).toBe(0);
  });
});

describe('RETENTION_RUNS', () => {
  it('deletes every row of a run, and its objects', async () => {
    const { body } = await fixture.request(200, 'POST /agent/runs', {
      token: fixture.member.token,
      headers: { 'Idempotency-Key': 'once' },
      body: { prompt: 'Go', team: true },
    });
    const id = String(body.run_id);
    const runner = await TestRunner.take(fixture.api, id);
    await runner.startAgent();
    await runner.report(
      ['turn_started', { turn_id: 't1', prompt: 'Go' }],
      ['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }],
    );
    await fixture.request(
      204,
      `PUT /runner/v1/executions/${runner.assignment.execution_id}/transcript?lease_epoch=${runner.assignment.lease_epoch}&format=oz&session_id=s`,
      { token: runner.token, body: Buffer.from(TRANSCRIPT), contentType: 'application/octet-stream' },
    );
    await runner.finish();
    await get(200, `/agent/runs/${id}/conversation`);
    const artifacts = new ArtifactBuilder(fixture.database, { objects: store });
    const { uid } = await artifacts.build(id, { type: 'FILE' });
    const child = await build('SUCCEEDED', { columns: { parent_run_id: id, ancestor_run_ids: [id] } });
    const attachmentKey = `attachments/${id}/1`;
    await store.put(attachmentKey, Buffer.from('hello'), { contentType: 'text/plain' });
    await fixture.database.query(
      `INSERT INTO run_attachments (id, run_id, position, file_name, mime_type, size_bytes, object_key, created_at)
       VALUES (gen_random_uuid(), $1, 0, 'a.txt', 'text/plain', 5, $2, headrace.now())`,
      [id, attachmentKey],
    );
    const keys = [await keyOf(id), attachmentKey, `artifacts/${id}/${uid}`];
    expect(await Promise.all(keys.map(isStored))).toEqual([true, true, true]);

    await fixture.api.advanceClock(10 * DAY + HOUR);
    const changed = await build('SUCCEEDED', { createdAt: new Date(Date.now() - 30 * DAY) });
    await fixture.database.query('UPDATE runs SET updated_at = headrace.now() WHERE id = ANY($1)', [
      [changed.id, child.id],
    ]);
    await round();

    await get(404, `/agent/runs/${id}`);
    await get(404, `/agent/runs/${id}/conversation`);
    await get(404, `/agent/artifacts/${uid}`);
    const tables = await tablesOfRuns();
    expect(tables).toEqual(expect.arrayContaining(['artifacts', 'conversation_folds', 'run_events', 'run_facets']));
    for (const table of tables) expect([table, await countOf(table, id)]).toEqual([table, 0]);
    // What is younger stays, whatever it came from.
    expect((await get(200, `/agent/runs/${child.id}`)).body.parent_run_id).toBe(id);
    await get(200, `/agent/runs/${changed.id}`);

    await fixture.api.advanceClock(fixture.api.settings.signedUrlTtl + 61_000);
    const disposal = fixture.api.app.get(ObjectDisposal);
    while ((await disposal.sweep()) > 0);
    expect(await Promise.all(keys.map(isStored))).toEqual([false, false, false]);

    const again = await fixture.request(200, 'POST /agent/runs', {
      token: fixture.member.token,
      headers: { 'Idempotency-Key': 'once' },
      body: { prompt: 'Go', team: true },
    });
    expect(again.body.run_id).not.toBe(id);
  });

  it('lists only folders that contain objects', async () => {
    const artifacts = new ArtifactBuilder(fixture.database, { objects: store });
    const [empty, reported, shown, given, pointing] = await Promise.all([
      build('SUCCEEDED'),
      build('SUCCEEDED', { transcript: TRANSCRIPT }),
      build('SUCCEEDED'),
      build('SUCCEEDED'),
      build('SUCCEEDED'),
    ]);
    await artifacts.build(shown.id, { type: 'FILE' });
    await artifacts.build(shown.id, { type: 'SCREENSHOT' });
    await artifacts.build(pointing.id, { type: 'EXTERNAL_REFERENCE' });
    await fixture.database.query(
      `INSERT INTO run_attachments (id, run_id, position, file_name, mime_type, size_bytes, object_key, created_at)
       SELECT gen_random_uuid(), $1::uuid, n, 'a.txt', 'text/plain', 5, 'attachments/' || $1::uuid || '/' || n, headrace.now() FROM generate_series(0, 1) n`,
      [given.id],
    );
    await fixture.api.advanceClock(10 * DAY + HOUR);
    expect((await round()).runs).toBeGreaterThanOrEqual(5);
    await get(404, `/agent/runs/${empty.id}`);
    const ids = [empty, reported, shown, given, pointing].map(({ id }) => id);
    const rows = await fixture.database.query<{ name: string }>(
      `SELECT name FROM discarded_objects WHERE name ~ ANY($1::text[]) ORDER BY name`,
      [ids],
    );
    expect(rows.map(({ name }) => name)).toEqual(
      [`artifacts/${shown.id}/`, `attachments/${given.id}/`, `transcripts/${reported.id}/`].sort(),
    );
  });

  it('deletes the runs of all owners, also with equal times, from concurrent processes', async () => {
    await fixture.database.query(
      `INSERT INTO runs (id, owner_user_uid, slot_key, pool, state, title, prompt, source, execution_location, mode, interactive,
                         creator_type, creator_uid, executor_type, executor_uid, config, queued_at, created_at, updated_at)
       SELECT gen_random_uuid(), 'nobody' || n % 7, 'user:nobody' || n % 7, 'hosted', (ARRAY['SUCCEEDED','CANCELLED','QUEUED'])[1 + n % 3],
              't', 'p', 'API', 'REMOTE', 'normal', false, 'user', 'nobody', 'user', 'nobody', '{}', t.at, t.at, t.at
         FROM generate_series(1, 1500) n, LATERAL (SELECT headrace.now() + (n / 400) * interval '1 second' AS at) t`,
    );
    await fixture.api.advanceClock(11 * DAY);
    // Kinds may get into each other's way: what one has locked, the other comes back to.
    const rounds = [...(await Promise.all([round(), round(), round()])), await round()];
    expect(rounds.reduce((sum, { runs = 0 }) => sum + runs, 0)).toBeGreaterThanOrEqual(1000);
    const left = await fixture.database.query<{ state: string; n: number }>(
      `SELECT state, count(*)::int AS n FROM runs WHERE slot_key LIKE 'user:nobody%' GROUP BY state`,
    );
    expect(left).toEqual([{ state: 'QUEUED', n: 500 }]);
  });
});
