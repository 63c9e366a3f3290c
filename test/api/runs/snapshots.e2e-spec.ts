import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PruneRuns } from '#domain/runs';
import { SweepExecutions } from '#execution/executions';
import { encodeManifest, type SnapshotEntry } from '#execution/runner-protocol';
import { ObjectStore } from '#platform/storage';
import { TestRunner, type TestResponse } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { UNKNOWN_RUN_ID } from '../../support/api-requests.js';

type Json = TestResponse['body'];

const DAY = 86_400_000;
let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: { retainTranscripts: DAY, retainRuns: 10 * DAY } });
});
afterAll(() => fixture.close());

const started = async (): Promise<{ runId: string; runner: TestRunner }> => {
  const { token } = fixture.member;
  const { body } = await fixture.request(200, 'POST /agent/runs', { token, body: { prompt: 'Go.' } });
  const runner = await TestRunner.take(fixture.api, body.run_id);
  await runner.startAgent();
  return { runId: body.run_id, runner };
};
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const directory = (path: string): SnapshotEntry => ({ type: 'directory', path, mode: 0o700 });
const fileOf = (path: string, text: string): SnapshotEntry => ({
  type: 'file',
  path,
  mode: 0o644,
  mtime: 1,
  size: text.length,
  hash: 'a'.repeat(64),
  content: [[0, 0, text.length + 1, 0, text.length]],
});

const manifestOf = (packs: readonly string[], entries: readonly SnapshotEntry[], bytes: number): Buffer =>
  gzipSync(
    encodeManifest(
      { version: 1, packs, entries: entries.length, bytes, problems: [], excluded: [], root: '/srv/1' },
      entries,
    ),
  );

const turn = (runner: TestRunner, turnId: string) =>
  runner.report(
    ['turn_started', { turn_id: turnId, prompt: 'Go.' }],
    ['turn_ended', { turn_id: turnId, stop_reason: 'end_turn' }],
  );
const fork = (status: number, runId: string, body?: object, { token } = fixture.member, headers = {}) =>
  fixture.request(status, `POST /agent/runs/${runId}/fork`, { token, body, headers });
const timeline = async (runId: string): Promise<Json[]> =>
  (await fixture.request(200, `GET /agent/runs/${runId}/timeline`, { token: fixture.member.token })).body.events;
const prune = async (kind: 'runs' | 'transcripts'): Promise<void> => {
  const pruning = fixture.api.app.get(PruneRuns, { strict: false });
  for (let hasMore = true; hasMore;) ({ hasMore } = await pruning.step(kind));
};
const packKeys = async (): Promise<string[]> =>
  (await fixture.database.query<{ key: string }>('SELECT object_key AS key FROM snapshot_packs')).map(({ key }) => key);

describe('a run whose runner is lost in the middle of a turn', () => {
  const loseRunner = async (): Promise<void> => {
    await fixture.api.advanceClock(2 * fixture.api.settings.leaseTtl);
    await fixture.api.app.get(SweepExecutions, { strict: false }).execute();
  };
  const followUp = (runId: string) =>
    fixture.request(200, `POST /agent/runs/${runId}/followups`, {
      token: fixture.member.token,
      body: { message: 'Continue.' },
    });
  const get = async (runId: string): Promise<Json> =>
    (await fixture.request(200, `GET /agent/runs/${runId}`, { token: fixture.member.token })).body;
  const inSecondTurn = async () => {
    const { runId, runner } = await started();
    const snapshotId = await runner.snapshot();
    await turn(runner, randomUUID());
    await runner.report(
      ['turn_started', { turn_id: randomUUID(), prompt: 'More.' }],
      ['tool_call', { tool_call_id: 'a', title: 'touch b' }],
    );
    return { runId, runner, snapshotId };
  };

  it('continues with a message that waits', async () => {
    const { runId, snapshotId } = await inSecondTurn();
    expect((await followUp(runId)).body).toMatchObject({ outcome: 'live_session' });
    await loseRunner();
    expect(await get(runId)).toMatchObject({
      state: 'QUEUED',
      status_message: {
        message:
          'The worker that executed the run stopped responding; its agent was stopped. The run continues with the next message.',
      },
    });
    const second = await TestRunner.take(fixture.api, runId);
    expect(second.assignment).toMatchObject({
      prompt: null,
      snapshots: { restore: snapshotId, lacks_last_turn: true },
    });
    const { body } = await second.call(200, 'GET conversation-summary');
    expect(body.text).toContain('[This turn was interrupted.');
    await second.startAgent();
    expect(await get(runId)).not.toHaveProperty('status_message');
    expect((await timeline(runId)).map(({ event_type: type }) => type)).not.toContain('run_errored');
  });

  it('ends without a message, and a later one gets the files without those of the turn', async () => {
    const { runId } = await inSecondTurn();
    await loseRunner();
    expect(await get(runId)).toMatchObject({
      state: 'ERROR',
      status_message: { error_code: 'infrastructure_timeout' },
    });
    await followUp(runId);
    const second = await TestRunner.take(fixture.api, runId);
    expect(second.assignment.snapshots).toMatchObject({ lacks_last_turn: true });
    await second.startAgent();
    await turn(second, randomUUID());
    await second.finish('closed');
    await followUp(runId);
    expect((await TestRunner.take(fixture.api, runId)).assignment.snapshots).not.toHaveProperty('lacks_last_turn');
  });
});

describe('a snapshot that a runner stores', () => {
  it('is in the timeline between the events before and after it', async () => {
    const { runId, runner } = await started();
    await runner.report(['agent_waiting', { message: 'before' }]);
    const snapshotId = await runner.snapshot();
    await runner.report(['agent_resumed']);
    const events = await timeline(runId);
    expect(events.slice(-3)).toMatchObject([
      { event_type: 'agent_waiting' },
      {
        event_type: 'workspace_snapshot',
        payload: { snapshot_id: snapshotId, reason: 'turn', entries: 2, size_bytes: 3, stored_bytes: 9 },
      },
      { event_type: 'agent_resumed' },
    ]);
    const sequences = events.map(({ sequence }) => sequence);
    expect(sequences).toEqual([...sequences].sort((a, b) => a - b));
  });

  it('does not exist without its manifest, or when the manifest is not valid', async () => {
    const { runId, runner } = await started();
    const packId = randomUUID();
    await runner.call(204, `PUT snapshots/packs/${packId}`, {}, Buffer.from('\0abc'));
    const put = (manifest: Buffer, query = {}) =>
      runner.call(400, 'PUT snapshots', { reason: 'turn', stored_bytes: '1', ...query }, manifest);
    const entries = [directory('work'), fileOf('work/file', 'abc')];
    for (const manifest of [
      Buffer.from('nonsense'),
      gzipSync('nonsense'),
      manifestOf([packId], [directory('work'), fileOf('../file', 'abc')], 3),
      manifestOf([packId], entries, 4),
      manifestOf([randomUUID()], entries, 3),
    ])
      expect((await put(manifest)).body).toMatchObject({ error_code: 'invalid_request' });
    expect((await put(manifestOf([packId], entries, 3), { reason: 'whim' })).body).toMatchObject({
      errors: [{ pointer: '/reason' }],
    });
    await runner.call(404, 'PUT snapshots/packs/..%2Fescape', {}, Buffer.from('x'));
    expect((await timeline(runId)).map(({ event_type: type }) => type)).not.toContain('workspace_snapshot');
    expect((await fork(404, runId, {})).body.detail).toContain('no stored snapshot');
  });

  it('exists from its event on, and is reported once', async () => {
    const { runId, runner } = await started();
    const packId = randomUUID();
    const pack = Buffer.from('\0abc');
    const manifest = manifestOf([packId], [directory('work'), fileOf('work/file', 'abc')], 3);
    const query = { reason: 'turn', stored_bytes: '9', pack_id: packId, pack_bytes: String(pack.length) };
    const { body: stored } = await runner.call(200, 'PUT snapshots', query, Buffer.concat([pack, manifest]));
    expect(stored).toMatchObject({ reason: 'turn', entries: 2, size_bytes: 3, stored_bytes: 9 });
    const id: string = stored.snapshot_id;
    await runner.call(404, `GET snapshots/${id}`);
    expect((await fork(400, runId, { at: id })).body).toMatchObject({ errors: [{ pointer: '/at' }] });
    await runner.report(['agent_waiting', { message: 'before' }], ['workspace_snapshot', stored], ['agent_resumed']);
    await runner.call(200, `GET snapshots/${id}`);
    const { snapshot } = (await fork(200, runId, { at: id })).body;
    const entry = (await timeline(runId)).find(({ event_type: type }) => type === 'workspace_snapshot');
    expect(entry).toMatchObject({ sequence: snapshot.sequence, payload: { snapshot_id: id } });
    // The runner continues without one that is not stored, or not stored any more.
    for (const id of [stored.snapshot_id, randomUUID(), '***', 7, {}])
      await runner.report(['workspace_snapshot', { ...stored, snapshot_id: id }]);
    const types = (await timeline(runId)).map(({ event_type: type }) => type);
    expect(types.filter((type) => type === 'workspace_snapshot')).toHaveLength(1);
    expect(types.slice(-5)).toEqual(Array(5).fill('workspace_snapshot_failed'));
  });

  it('is encrypted in the object store, and counts as deleted when it was changed there', async () => {
    const { runId, runner } = await started();
    const text = 'a text that is easy to find';
    const snapshotId = await runner.snapshot(text);
    const objects = fixture.api.app.get(ObjectStore, { strict: false });
    const packs = await fixture.database.query<{ id: string; key: string; contentKey: string }>(
      `SELECT id, object_key AS key, content_key AS "contentKey" FROM snapshot_packs WHERE object_key LIKE '%' || $1 || '%.pack'`,
      [runId],
    );
    const [pack] = packs;
    if (!pack) throw new Error('The run has no pack.');
    expect(pack.contentKey).toMatch(/^v1\./);
    const stored = await objects.get(pack.key).then((object) => object && buffer(object.stream));
    if (!stored) throw new Error('The pack is not stored.');
    expect(stored.includes(text)).toBe(false);
    const read = await runner.call(200, `GET snapshots/packs/${pack.id}`);
    expect(read.text).toContain(text);
    const { token } = fixture.member;
    const path = `GET /agent/runs/${runId}/files?path=file&at=${snapshotId}`;
    expect((await fixture.request(200, path, { token })).text).toBe(text);
    stored.writeUInt8(stored.readUInt8(0) ^ 1, 0);
    await objects.put(pack.key, stored, { contentType: 'application/octet-stream' });
    await runner.call(404, `GET snapshots/packs/${pack.id}`);
  });

  it('belongs to its run, and is rejected after the end of the lease', async () => {
    const [first, second] = [await started(), await started()];
    const snapshotId = await first.runner.snapshot();
    await first.runner.call(200, `GET snapshots/${snapshotId}`);
    await second.runner.call(404, `GET snapshots/${snapshotId}`);
    const [key = ''] = await packKeys();
    await second.runner.call(404, `GET snapshots/packs/${/([^/]+)\/[^/]+\.pack$/.exec(key)?.[1] ?? randomUUID()}`);
    await first.runner.finish('closed');
    const late = manifestOf([], [], 0);
    await first.runner.call(412, 'PUT snapshots', { reason: 'end', stored_bytes: '0' }, late);
    await first.runner.call(412, `PUT snapshots/packs/${randomUUID()}`, {}, Buffer.from('x'));
  });

  it('is what the next execution of the run begins with', async () => {
    const { runId, runner } = await started();
    await turn(runner, randomUUID());
    const snapshotId = await runner.snapshot();
    await runner.finish('closed');
    await fixture.request(200, `POST /agent/runs/${runId}/followups`, {
      token: fixture.member.token,
      body: { message: 'Continue.' },
    });
    const next = await TestRunner.take(fixture.api, runId);
    expect(next.assignment.snapshots).toMatchObject({ restore: snapshotId, interval_seconds: 300 });
    expect((await next.call(200, 'GET conversation-summary')).body.text).toContain('Go.');
  });
});

describe('POST /agent/runs/{runId}/fork', () => {
  it('starts runs with a snapshot by its id, its sequence, the id of a step, and the last one', async () => {
    const { runId, runner } = await started();
    const [firstTurn, secondTurn] = [randomUUID(), randomUUID()];
    const first = await runner.snapshot('one');
    await turn(runner, firstTurn);
    const second = await runner.snapshot('two');
    await turn(runner, secondTurn);
    const snapshots = (await timeline(runId)).filter(({ event_type: type }) => type === 'workspace_snapshot');
    for (const [at, expected] of [
      [first, first],
      [snapshots[0]?.sequence, first],
      [String(snapshots[0]?.sequence), first],
      [firstTurn, first],
      [secondTurn, second],
      [undefined, second],
      [1_000_000, second],
    ] as const) {
      const { body } = await fork(200, runId, at === undefined ? undefined : { at });
      expect(body.snapshot.snapshot_id).toBe(expected);
      const [forked] = body.runs;
      expect(forked).toMatchObject({ state: 'QUEUED' });
      const item = (await fixture.request(200, `GET /agent/runs/${forked.run_id}`, { token: fixture.member.token }))
        .body;
      expect(item).toMatchObject({
        parent_run_id: runId,
        forked_from: { run_id: runId, sequence: body.snapshot.sequence },
        source: 'ORCHESTRATION',
      });
      const { assignment } = await TestRunner.take(fixture.api, forked.run_id);
      expect(assignment.snapshots).toMatchObject({ restore: expect.any(String), is_fork: true });
      expect(assignment.resume).toMatchObject({ transcript: false });
    }
  });

  it('begins a new session with another harness, and replaces fields of the configuration', async () => {
    const { runId, runner } = await started();
    await runner.snapshot();
    const body = { count: 3, prompt: 'Compare.', config: { harness: { type: 'claude' }, model_id: 'm' } };
    const { runs } = (await fork(200, runId, body)).body;
    expect(new Set(runs.map(({ run_id: id }: Json) => id)).size).toBe(3);
    const { assignment } = await TestRunner.take(fixture.api, runs[0].run_id);
    expect(assignment).toMatchObject({ resume: null, prompt: 'Compare.', harness: { type: 'claude', model_id: 'm' } });
  });

  it('is repeated with the same Idempotency-Key, and found by the filter forked_from', async () => {
    const { runId, runner } = await started();
    await runner.snapshot();
    const key = { 'Idempotency-Key': randomUUID() };
    const first = (await fork(200, runId, { count: 2 }, fixture.member, key)).body;
    expect((await fork(200, runId, { count: 2 }, fixture.member, key)).body).toEqual(first);
    expect((await fork(422, runId, { count: 1 }, fixture.member, key)).body).toMatchObject({
      error_code: 'idempotency_key_reused',
    });
    const { body } = await fixture.request(200, `GET /agent/runs?forked_from=${runId.toUpperCase()}`, {
      token: fixture.member.token,
    });
    const found = body.runs.map(({ run_id: id }: Json) => id);
    expect(found.sort()).toEqual(first.runs.map(({ run_id: id }: Json) => id).sort());
  });

  it('rejects a prompt that is too large with 413, and another media type with 415', async () => {
    const { runId, runner } = await started();
    await runner.snapshot();
    expect((await fork(413, runId, { prompt: 'x'.repeat(1_048_577) })).body).toMatchObject({
      errors: [{ pointer: '/prompt' }],
    });
    await fixture.request(415, `POST /agent/runs/${runId}/fork`, {
      token: fixture.member.token,
      body: '{}',
      contentType: 'text/plain',
    });
  });

  it('rejects points without a snapshot, wrong counts and configurations, and runs of others', async () => {
    const { runId, runner } = await started();
    await runner.snapshot();
    for (const at of [0, -1, 1.5, 'nothing', randomUUID(), null, {}, [1]])
      expect((await fork(400, runId, { at })).body).toMatchObject({ errors: [{ pointer: '/at' }] });
    expect((await fork(400, runId, { count: 0 })).body).toMatchObject({ errors: [{ pointer: '/count' }] });
    expect((await fork(400, runId, { count: 11 })).body).toMatchObject({ errors: [{ pointer: '/count' }] });
    expect((await fork(400, runId, { config: { unknown: 1 } })).body).toMatchObject({ error_code: 'invalid_request' });
    const environment = { config: { environment_id: 'a'.repeat(22) } };
    expect((await fork(403, runId, environment)).body).toMatchObject({ error_code: 'not_authorized' });
    const stranger = await fixture.api.identities.user({ [await fixture.api.identities.team()]: 'admin' });
    await fork(403, runId, {}, stranger);
    await fork(404, UNKNOWN_RUN_ID, {});
  });
});

describe('the changes and files of a run', () => {
  it('are those of its snapshots, and 404 without one', async () => {
    const { runId, runner } = await started();
    const get = (status: number, path: string) =>
      fixture.request(status, `GET /agent/runs/${runId}/${path}`, { token: fixture.member.token });
    await get(404, 'changes');
    await get(404, 'files?path=file');
    const first = await runner.snapshot('one');
    const second = await runner.snapshot('two');
    expect((await get(200, `changes?from=${first}&to=${second}`)).body).toMatchObject({
      files: [{ path: 'file', change: 'modified', additions: 1, deletions: 1, diff: expect.stringContaining('+two') }],
    });
    expect((await get(200, 'changes')).body).toMatchObject({ from: null, files: [{ path: 'file', change: 'added' }] });
    expect((await get(200, `files?at=${first}`)).body).toMatchObject({
      snapshot: { snapshot_id: first },
      entries: [{ name: 'file', type: 'file', size_bytes: 3, mode: '100644' }],
    });
    const { headers } = await get(200, 'files?path=file');
    expect(headers.get('content-disposition')).toContain('attachment');
    for (const path of ['file', './file', '/file', '', '.', './/'])
      expect((await get(200, `changes?path=${encodeURIComponent(path)}`)).body.files).toHaveLength(1);
    expect((await get(200, 'changes?path=other')).body.files).toEqual([]);
    for (const operation of ['files', 'changes', 'archive'])
      for (const path of ['..', '../home', 'a/../../home'])
        expect((await get(400, `${operation}?path=${encodeURIComponent(path)}`)).body).toMatchObject({
          errors: [{ pointer: '/path' }],
        });
    for (const query of ['changes?from=nothing', 'changes?to=0', 'files?at=nothing', 'files?unknown=1'])
      expect((await get(400, query)).body).toMatchObject({ error_code: 'invalid_request' });
  });

  it('are answered in time when every line of many files has changed', async () => {
    const { runId, runner } = await started();
    const store = async (lineBreak: string): Promise<string> => {
      const text = Array.from({ length: 5_000 }, (_, line) => `${line}${lineBreak}`).join('');
      const packId = randomUUID();
      await runner.call(204, `PUT snapshots/packs/${packId}`, {}, Buffer.from(`\0${text}`));
      const files = Array.from({ length: 200 }, (_, file) => ({ ...fileOf(`work/${file}`, text), hash: sha256(text) }));
      const manifest = manifestOf([packId], [directory('work'), ...files], files.length * text.length);
      const { body } = await runner.call(200, 'PUT snapshots', { reason: 'turn', stored_bytes: '9' }, manifest);
      await runner.report(['workspace_snapshot', body]);
      return body.snapshot_id;
    };
    const query = `from=${await store('\n')}&to=${await store('\r\n')}`;
    const { body } = await fixture.request(200, `GET /agent/runs/${runId}/changes?${query}`, {
      token: fixture.member.token,
    });
    expect(body).toMatchObject({ truncated: true, files: { length: 200 } });
    expect(body.files[0]).toMatchObject({ additions: 5_000, deletions: 5_000 });
    expect(body.files[199]).not.toHaveProperty('diff');
  });
});

describe('the archive of a run', () => {
  const download = (status: number, runId: string, query = '', { token } = fixture.member) =>
    fixture.request(status, `GET /agent/runs/${runId}/archive${query}`, { token });
  const extracted = async (runId: string, query = ''): Promise<string[]> => {
    const response = await fetch(`${fixture.api.url}/api/v1/agent/runs/${runId}/archive${query}`, {
      headers: { authorization: `Bearer ${fixture.member.token}` },
    });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/gzip']);
    const target = mkdtempSync(join(tmpdir(), 'headrace-test-archive-'));
    try {
      execFileSync('tar', ['-xzp', '-C', target], { input: Buffer.from(await response.arrayBuffer()) });
      const format = '%P %y %m %s %Ts %l\\n';
      const found = execFileSync('find', ['.', '-mindepth', '1', '-printf', format], {
        cwd: target,
        encoding: 'latin1',
      });
      return found
        .trimEnd()
        .split('\n')
        .map((line) =>
          line
            .trimEnd()
            .replace(/ d (\d+) .*/, ' d $1')
            .replace(/ l 777 \d+ \d+/, ' ->'),
        )
        .sort();
    } finally {
      rmSync(target, { recursive: true });
    }
  };
  const long = 'long name '.repeat(20).trim();

  it('contains the files of a snapshot with their permissions, times and links, or those of a directory', async () => {
    const { runId, runner } = await started();
    const packId = randomUUID();
    const entries: SnapshotEntry[] = [
      directory('home'),
      fileOf('home/secret', 'abc'),
      directory('work'),
      { ...directory('work/bin'), mode: 0o750 } as SnapshotEntry,
      { ...fileOf('work/bin/tool', 'abc'), mode: 0o755, mtime: 1_700_000_000_000 } as SnapshotEntry,
      { ...fileOf('work/empty', ''), content: [] } as SnapshotEntry,
      { type: 'link', path: 'work/link', target: '../elsewhere' },
      fileOf(`work/${long} ü`, 'abc'),
      { type: 'link', path: 'work/far', target: `${long}/target` },
      { ...directory('work/\xe9'), binary: true },
      { ...fileOf('work/\xe9/\xff', 'abc'), binary: true, mtime: -5000 } as SnapshotEntry,
      { ...fileOf('work/zero', 'abc'), mode: 0, mtime: 4_000_000_000_000 } as SnapshotEntry,
    ];
    const query = { reason: 'turn', stored_bytes: '9', pack_id: packId, pack_bytes: '4' };
    const body = Buffer.concat([Buffer.from('\0abc'), manifestOf([packId], entries, 15)]);
    const { body: stored } = await runner.call(200, 'PUT snapshots', query, body);
    await runner.report(['workspace_snapshot', stored]);
    const tool = 'tool f 755 3 1700000000';
    const bytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
    expect(await extracted(runId)).toEqual(
      [
        'bin d 750',
        `bin/${tool}`,
        'empty f 644 0 0',
        `far -> ${long}/target`,
        'link -> ../elsewhere',
        bytes(`${long} ü f 644 3 0`),
        'zero f 0 3 4000000000',
        '\xe9 d 700',
        '\xe9/\xff f 644 3 0',
      ].sort(),
    );
    expect(await extracted(runId, '?path=bin')).toEqual([tool]);
    const first = stored.snapshot_id as string;
    await runner.snapshot('two');
    expect(await extracted(runId)).toEqual(['file f 644 3 0']);
    expect(await extracted(runId, `?at=${first}&path=./bin/`)).toEqual([tool]);
  });

  it('is a 404 without a snapshot and for what is no directory, and a 400 for an unknown point', async () => {
    const { runId, runner } = await started();
    await download(404, runId);
    await runner.snapshot();
    await download(404, runId, '?path=file');
    await download(404, UNKNOWN_RUN_ID);
    await download(403, runId, '', fixture.stranger);
    expect((await download(400, runId, '?at=nothing')).body).toMatchObject({ errors: [{ pointer: '/at' }] });
  });

  it('ends with an error of the connection when a part of the snapshot is damaged', async () => {
    const { runId, runner } = await started();
    await runner.snapshot();
    await fixture.database.query(
      `UPDATE snapshot_packs SET object_key = 'snapshots/missing' WHERE id IN
         (SELECT pack_id FROM run_snapshot_packs WHERE run_id = $1 AND pack_id NOT IN (SELECT manifest_id FROM run_snapshots))`,
      [runId],
    );
    const response = fetch(`${fixture.api.url}/api/v1/agent/runs/${runId}/archive`, {
      headers: { authorization: `Bearer ${fixture.member.token}` },
    });
    await expect(response.then((answer) => answer.arrayBuffer())).rejects.toThrow();
  });
});

describe('retention', () => {
  it('keeps stored content until the run and its last fork are gone, and rejects forks afterwards', async () => {
    const { runId, runner } = await started();
    await runner.snapshot('kept');
    await turn(runner, randomUUID());
    const { runs } = (await fork(200, runId, {})).body;
    await runner.finish('closed');
    const keys = (await packKeys()).filter((key) => key.includes(runId));
    expect(keys).toHaveLength(2);
    await fixture.database.advanceClock(2 * DAY);
    await prune('transcripts');
    expect((await fork(404, runId, {})).body.detail).toContain('no stored snapshot');
    expect((await packKeys()).filter((key) => key.includes(runId))).toEqual(keys);
    const forked = await TestRunner.take(fixture.api, runs[0].run_id);
    await forked.call(200, `GET snapshots/${forked.assignment.snapshots?.restore ?? ''}`);
    await forked.startAgent();
    await turn(forked, randomUUID());
    await forked.finish('closed');
    await fixture.database.advanceClock(2 * DAY);
    await prune('transcripts');
    expect((await packKeys()).filter((key) => key.includes(runId))).toEqual([]);
    const [row] = await fixture.database.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM discarded_objects WHERE name = ANY($1)',
      [keys],
    );
    expect(row?.n).toBe(2);
  });
});
