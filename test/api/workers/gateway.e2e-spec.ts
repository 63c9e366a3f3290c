import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { TokensService } from '#platform/auth';
import { Metrics } from '#platform/observability';
import { createDatabaseProxy, createTestDatabase, startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { WorkerSockets } from '#execution/worker-gateway';
import { until } from '../../support/installation.js';
import { deafWorker, hello, refusal, WorkerSocket } from './worker-socket.js';

/** Pings each second, notes who is there each third of one. */
const SILENCE_MS = 3_000;
const PATH = '/agent/connected-self-hosted-workers';

let api: TestApi;
let second: TestApi;
let team: string;
let bot: TestPrincipal;
const open: WorkerSocket[] = [];

beforeAll(async () => {
  api = await startTestApi({ settings: { workerHeartbeatTimeout: SILENCE_MS } });
  second = await startTestApi({ settings: { workerHeartbeatTimeout: SILENCE_MS }, database: api.database });
});
beforeAll(async () => {
  team = await api.identities.team();
  bot = await api.identities.serviceAccount(team);
});
afterEach(async () => {
  for (const worker of open.splice(0)) if (worker.socket.readyState === worker.socket.OPEN) await worker.close();
});
afterAll(async () => {
  await second.close();
  await api.close();
});

async function connect(name: string, at = api, options = {}, token = bot.token): Promise<WorkerSocket> {
  const worker = await WorkerSocket.open(at.url, name, token, options);
  open.push(worker);
  return worker;
}

interface Listed {
  worker_host: string;
  connection_count: number;
  connected_at: string;
  last_seen_at: string;
}

const listed = async (at = api, token = bot.token): Promise<Listed[]> =>
  (await at.request(200, `GET ${PATH}`, { token })).body.workers as Listed[];

const named = (name: string, count: number, at = api): Promise<Listed> =>
  until(async () => (await listed(at)).find((one) => one.worker_host === name && one.connection_count === count));

const gone = (name: string): Promise<boolean> =>
  until(async () => !(await listed()).some(({ worker_host: host }) => host === name));

const usable = (name: string): Promise<{ free_slots: number | null; slots: number | null }[]> =>
  api.database.query('SELECT free_slots, slots FROM headrace.usable_workers($1, $2)', [team, name]);

describe('the list of connected workers', () => {
  it('counts the connections of each name in all processes', async () => {
    const workers = [await connect('crew'), await connect('crew', second), await connect('alone')];
    await named('alone', 1);
    const crew = await named('crew', 2, second);
    expect((await listed()).map(({ worker_host: host }) => host)).toEqual(['alone', 'crew']);
    expect(Date.parse(crew.last_seen_at)).toBeGreaterThanOrEqual(Date.parse(crew.connected_at));
    await workers[0]?.close();
    await named('crew', 1);
    await workers[1]?.close();
    await gone('crew');
  });

  it('returns only workers of the team', async () => {
    await connect('ours');
    await named('ours', 1);
    const other = await api.identities.serviceAccount(await api.identities.team());
    expect(await listed(api, other.token)).toEqual([]);
  });

  it('omits workers whose heartbeats have stopped', async () => {
    const worker = await connect('lively');
    const { last_seen_at: before } = await named('lively', 1);
    worker.send({ type: 'heartbeat' });
    await until(async () => (await named('lively', 1)).last_seen_at > before);
  });

  it('is exported as a metric', async () => {
    await connect('metered');
    const text = await api.app.get(Metrics, { strict: false }).render();
    expect(text).toMatch(/^headrace_worker_connections 1$/m);
    expect(text).toMatch(/^headrace_worker_handshakes_total\{status="101"\} \d+$/m);
  });
});

describe('a connection', () => {
  it('is closed with 1008 for a malformed frame', async () => {
    for (const text of ['no json', '[1]', '{"type":7}', '']) {
      const worker = await connect('babbler');
      worker.socket.send(text);
      expect(await worker.closed).toMatchObject({ code: 1008 });
    }
  });

  it('is closed with 1008 for a binary frame', async () => {
    const worker = await connect('binary');
    worker.socket.send(Buffer.from('{"type":"heartbeat"}'));
    expect(await worker.closed).toMatchObject({ code: 1008 });
  });

  it('is closed with 1009 for a frame of more than 1 MiB, and not for one of 1 MiB', async () => {
    const frame = (bytes: number): string => {
      const bare = JSON.stringify({ type: 'heartbeat', pad: '' });
      return bare.replace('""', `"${'x'.repeat(bytes - bare.length)}"`);
    };
    const worker = await connect('wordy');
    worker.socket.send(frame(1_048_576));
    worker.send(hello('wordy'));
    expect(await worker.next()).toMatchObject({ type: 'hello' });
    worker.socket.send(frame(1_048_577));
    expect(await worker.closed).toMatchObject({ code: 1009 });
  });

  it('is closed when it exceeds the rate of frames', async () => {
    const worker = await connect('flood');
    for (let index = 0; index < 1_000; index += 1) worker.send({ type: 'heartbeat' });
    expect(await worker.closed).toMatchObject({ code: 1008, reason: 'Too many frames.' });
  });

  it('ignores unknown types and incomplete data', async () => {
    const worker = await connect('strange');
    worker.send({ type: 'gossip', data: { any: 'thing' } });
    worker.send({ type: 'task_claimed', data: {} });
    worker.send({ type: 'task_completed', data: { task_id: 'no uuid', message: '\u0000\ud800' } });
    worker.send({ type: 'task_failed', data: { task_id: randomUUID(), message: 'x'.repeat(500_000) } });
    worker.send(hello('strange'));
    expect(await worker.next()).toMatchObject({ type: 'hello' });
    expect(api.log.errors).toEqual([]);
  });

  it('sends and answers pings, and is closed when it is silent for too long', async () => {
    const answering = await connect('answering');
    answering.socket.ping();
    await once(answering.socket, 'pong');
    const silent = await connect('silent', api, { autoPong: false });
    await named('silent', 1);
    await Promise.all([once(answering.socket, 'ping'), once(silent.socket, 'ping')]);
    expect(await silent.closed).toMatchObject({ code: 1006 });
    await gone('silent');
    expect(answering.socket.readyState).toBe(answering.socket.OPEN);
  });

  it('is closed when the worker does not read', async () => {
    const socket = await deafWorker(api.url, bot.token);
    const sockets = api.app.get(WorkerSockets, { strict: false });
    const deaf = await until(() => sockets.local().find(({ workerHost }) => workerHost === 'deaf'));
    const frame = { type: 'task_cancellation', data: { task_id: 'x'.repeat(200_000) } } as const;
    let sent = 0;
    while (sent < 500 && sockets.send(deaf.connectionId, frame)) sent += 1;
    expect(sent).toBeGreaterThan(10);
    expect(sent).toBeLessThan(500);
    expect(sockets.send(deaf.connectionId, frame)).toBe(false);
    await gone('deaf');
    socket.destroy();
  });

  it('is closed when its token ends', async () => {
    const tokens = [bot.token, await api.identities.token(bot), await api.identities.token(bot)];
    const [kept, revoked, expired] = await Promise.all(tokens.map((token) => connect('holder', api, {}, token)));
    const [row] = await api.database.query<{ uid: string }>(
      'SELECT uid FROM headrace.tokens WHERE hash = sha256($1::bytea)',
      [Buffer.from(tokens[1] ?? '')],
    );
    await api.app.get(TokensService).revoke({ tokenUid: row?.uid ?? '' });
    expect(await revoked?.closed).toEqual({ code: 1008, reason: 'The token is no longer valid.' });
    await api.database.query('UPDATE headrace.tokens SET expires_at = headrace.now() WHERE hash = sha256($1::bytea)', [
      Buffer.from(tokens[2] ?? ''),
    ]);
    expect(await expired?.closed).toMatchObject({ code: 1008 });
    expect(kept?.socket.readyState).toBe(1);
    const other = await api.identities.serviceAccount(team);
    const disabled = await connect('holder', api, {}, other.token);
    await api.database.query('UPDATE headrace.service_accounts SET disabled_at = headrace.now() WHERE uid = $1', [
      other.uid,
    ]);
    expect(await disabled.closed).toMatchObject({ code: 1008 });
  });
});

describe('a worker that says hello', () => {
  const announced = { headers: { 'x-headrace-worker-hello': '1' } };

  it('receives no offer before its hello', async () => {
    const worker = await connect('polite', api, announced);
    await connect('blunt');
    await named('blunt', 1);
    expect(await usable('blunt')).toEqual([{ free_slots: null, slots: null }]);
    expect(await usable('polite')).toEqual([]);
    worker.send(hello('polite', { slots: 3 }));
    expect(await worker.next()).toEqual({
      type: 'hello',
      data: { features: [], ttl_seconds: 90, next_beat_seconds: 30, tasks: [] },
    });
    await named('polite', 1);
    expect(await usable('polite')).toEqual([{ free_slots: 3, slots: 3 }]);
  });

  it('reports its harnesses, and how to install built-in ones', async () => {
    const worker = await connect('equipped', api, announced);
    const house = { id: 'house-agent', installed: false, install_hint: 'see page Agents' };
    worker.send(hello('equipped', { harnesses: [house, { id: 'claude', installed: true, version: '1' }] }));
    await named('equipped', 1);
    const { body } = await api.request(200, 'GET /agent/harnesses', { token: bot.token });
    const harnesses = body.harnesses as { id: string; install_hint?: string; installations: { location: string }[] }[];
    const [shown, claude] = ['house-agent', 'claude'].map((id) => harnesses.find((one) => one.id === id));
    expect(shown).toMatchObject({ install_hint: house.install_hint });
    expect(shown?.installations).toMatchObject([{ location: 'equipped', installed: false }]);
    expect(claude?.install_hint).toContain('npm install');
  });

  it('receives no offer while it drains', async () => {
    const worker = await connect('drainer', api, announced);
    worker.send(hello('drainer'));
    worker.send({ type: 'beat', data: { draining: true, free_slots: 2, tasks: [] } });
    await worker.next();
    expect(await worker.next()).toMatchObject({ type: 'beat', data: { tasks: [] } });
    expect(await usable('drainer')).toEqual([]);
    worker.send({ type: 'beat', data: { draining: false, free_slots: 1, tasks: [] } });
    await worker.next();
    expect(await usable('drainer')).toEqual([{ free_slots: 1, slots: 2 }]);
  });

  it('is informed about unknown tasks', async () => {
    const worker = await connect('amnesic', api, announced);
    const task = { task_id: randomUUID(), execution_id: '999999' };
    worker.send(hello('amnesic', { tasks: [task] }));
    expect(await worker.next()).toMatchObject({ data: { tasks: [{ ...task, verdict: 'unknown' }] } });
    worker.send({ type: 'beat', data: { draining: false, free_slots: 1, tasks: [task] } });
    expect(await worker.next()).toMatchObject({ data: { tasks: [{ ...task, desired: 'lost' }] } });
  });

  it('takes over its earlier connection, also in another process', async () => {
    const first = await connect('mover', api, announced);
    first.send(hello('the same process'));
    await named('mover', 1);
    const next = await connect('mover', second, announced);
    next.send(hello('the same process'));
    expect(await first.closed).toMatchObject({ code: 1008, reason: 'The worker has another connection.' });
    await named('mover', 1);
    expect(next.socket.readyState).toBe(1);
  });
});

describe('a worker that rejects a task', () => {
  it('counts as full, and receives offers again after a pause', async () => {
    const capacity = () =>
      api.database.query<{ known_slots: number | null; is_paused: boolean }>(
        'SELECT known_slots, is_paused FROM headrace.usable_workers($1, $2)',
        [team, 'full'],
      );
    const worker = await connect('full');
    await named('full', 1);
    expect(await capacity()).toEqual([{ known_slots: null, is_paused: false }]);
    worker.send({ type: 'task_rejected', data: { task_id: randomUUID(), reason: 'at capacity' } });
    await until(async () => (await capacity()).some((row) => row.known_slots === 0 && row.is_paused));
    await until(async () => (await capacity()).some((row) => row.known_slots === 0 && !row.is_paused));
  });
});

describe('a process', () => {
  it('that stops closes the connections of its workers, and leaves no row', async () => {
    const leaving = await startTestApi({ settings: { workerHeartbeatTimeout: SILENCE_MS }, database: api.database });
    const workers = await Promise.all(['a', 'b'].map((name) => connect(name, leaving)));
    await named('a', 1);
    await named('b', 1);
    const closed = leaving.close();
    for (const worker of workers) expect(await worker.closed).toMatchObject({ code: 1001 });
    await closed;
    expect(await listed()).toEqual([]);
  });

  it('that has crashed does not count any more, and its rows are deleted later', async () => {
    await api.database.query(
      `INSERT INTO headrace.worker_connections (id, team_uid, worker_host, instance, connected_at, last_seen_at, alive_until)
       SELECT gen_random_uuid(), $1, host, gen_random_uuid(), now() - interval '1 hour', now() - silent, now() - silent + interval '90 seconds'
       FROM (VALUES ('fresh', interval '80 seconds'), ('stale', interval '100 seconds'), ('old', interval '10 minutes')) AS v (host, silent)`,
      [team],
    );
    expect((await listed()).map(({ worker_host: host }) => host)).toEqual(['fresh']);
    const hosts = (): Promise<{ worker_host: string }[]> =>
      api.database.query('SELECT worker_host FROM headrace.worker_connections ORDER BY 1');
    await until(async () => (await hosts()).length === 2);
    expect(await hosts()).toEqual([{ worker_host: 'fresh' }, { worker_host: 'stale' }]);
    await api.database.query('DELETE FROM headrace.worker_connections');
  });

  it('keeps its workers while the database is unavailable, and registers them again', async () => {
    const database = await createTestDatabase();
    const proxy = await createDatabaseProxy(database.url);
    const cut = await startTestApi({
      database,
      settings: { workerHeartbeatTimeout: SILENCE_MS, databaseUrl: proxy.url },
    });
    const crew = await cut.identities.serviceAccount(await cut.identities.team());
    const early = await WorkerSocket.open(cut.url, 'early', crew.token);
    const hosts = (): Promise<{ worker_host: string }[]> =>
      database.query('SELECT worker_host FROM headrace.worker_connections ORDER BY 1');
    await until(async () => (await hosts()).length === 1);
    await proxy.cut();
    early.send(hello('early'));
    expect((await refusal(cut.url, { token: bot.token })).status).toBe(503);
    await once(early.socket, 'ping');
    await database.query('DELETE FROM headrace.worker_connections');
    expect(await hosts()).toEqual([]);
    await proxy.restore();
    expect(await early.next()).toMatchObject({ type: 'hello' });
    await until(async () => (await hosts()).length === 1);
    expect(cut.log.errors).toEqual([]);
    await early.close();
    await cut.close();
    await proxy.close();
    await database.close();
  });
});
