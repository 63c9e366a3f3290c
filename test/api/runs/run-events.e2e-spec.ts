import { connect } from 'node:net';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi, TestRunner } from '#testing';
import { LiveClient, mergeConversation, timelineOf } from './live-client.js';
import { ApiFixture } from '../../support/api-fixture.js';
import { statementsDuring, UNKNOWN_RUN_ID } from '../../support/api-requests.js';

const QUICK = { livePoll: 30, liveHeartbeat: 100, liveAuthRecheckInterval: 200, liveWriteTimeout: 500 };

let fixture: ApiFixture;
/** Another process of the same installation. */
let other: TestApi;
const open = new Set<LiveClient>();

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: QUICK });
  other = await startTestApi({ database: fixture.database, settings: QUICK });
});
afterAll(async () => {
  await other.close();
  await fixture.close();
});
afterEach(async () => {
  await Promise.all([...open].map((client) => client.leave()));
  open.clear();
});

async function watch(runId: string, options: { at?: TestApi; lastEventId?: string; query?: string } = {}) {
  const { at = fixture.api, ...rest } = options;
  const client = await LiveClient.watch(at, runId, { token: fixture.member.token, ...rest });
  open.add(client);
  return client;
}

async function createRun(): Promise<string> {
  const { body } = await fixture.request(200, 'POST /agent/runs', {
    token: fixture.member.token,
    body: { prompt: 'Say hello.' },
  });
  return body.run_id as string;
}

const get = async (runId: string, part: string) =>
  (await fixture.request(200, `GET /agent/runs/${runId}/${part}`, { token: fixture.member.token })).body;

async function expectToMatch(runId: string, events: LiveClient['events']): Promise<void> {
  expect(mergeConversation(events)).toEqual((await get(runId, 'conversation')).steps);
  expect(timelineOf(events)).toEqual((await get(runId, 'timeline')).events);
}

const started = ['turn_started', { turn_id: 't1', prompt: 'Say hello.' }] as const;
const says = (id: string, text: string) => ['message_chunk', { message_id: id, text }] as const;
const calls = (id: string, fields: object) => ['tool_call', { tool_call_id: id, ...fields }] as const;
const ended = ['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }] as const;
const sawText = (text: string) => (client: LiveClient) =>
  client.of('conversation').some(({ data }) => JSON.stringify(data).includes(text));

describe('a live run', () => {
  it('sends the reason why it is queued, and its changes', async () => {
    const { body } = await fixture.request(200, 'POST /agent/runs', {
      token: fixture.member.token,
      body: { prompt: 'Say hello.', config: { worker_host: 'build-7' } },
    });
    const client = await watch(body.run_id);
    const messages = () => client.of('state').map(({ data }) => data.status_message?.message as string | undefined);
    await client.until(() => messages().length === 1);
    await fixture.database.query(
      `INSERT INTO worker_connections (id, team_uid, worker_host, instance, connected_at, last_seen_at, alive_until, slots, free_slots)
       SELECT gen_random_uuid(), team_uid, 'build-7', gen_random_uuid(), headrace.now(), headrace.now(),
         headrace.now() + interval '1 hour', 1, 0 FROM runs WHERE id = $1`,
      [body.run_id],
    );
    await client.until(() => messages().length === 2);
    expect(messages()).toEqual([
      'Waiting: No worker named "build-7" is connected.',
      'Waiting: The connected workers named "build-7" accept no more runs at the moment.',
    ]);
  });

  it('is streamed from its creation to its end: state, timeline and conversation', async () => {
    const runId = await createRun();
    const client = await watch(runId);
    expect(client.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(client.response.headers.get('cache-control')).toBe('no-store');
    expect(client.response.headers.get('x-accel-buffering')).toBe('no');
    await client.until(client.sawState('QUEUED'));
    const runner = await TestRunner.take(fixture.api, runId);
    await client.until(client.sawState('CLAIMED'));
    await runner.startAgent();
    await client.until(client.sawState('INPROGRESS'));
    await runner.report(started, says('m1', 'Hel'));
    await client.until(sawText('"Hel"'));
    await runner.report(
      says('m1', 'lo.'),
      calls('c1', { tool_kind: 'execute', title: 'ls', input: { command: 'ls' } }),
    );
    await client.until(sawText('Hello.'));
    await runner.report(calls('c1', { status: 'completed', output: { exit_code: 0 } }), ended);
    await client.until(client.sawState('SUCCEEDED'));
    expect(client.isClosed).toBe(false);
    await runner.finish();
    await client.closed;
    expect(client.events.at(-1)).toMatchObject({ event: 'end', data: { run_id: runId, reason: 'run_ended' } });
    await expectToMatch(runId, client.events);
    await fixture.request(204, `GET /agent/runs/${runId}/events`, {
      token: fixture.member.token,
      headers: { 'last-event-id': client.lastId },
    });
  });

  it('sends only messages that changed', async () => {
    const runId = await createRun();
    const runner = await TestRunner.take(fixture.api, runId);
    await runner.startAgent();
    await runner.report(
      started,
      says('m1', 'First.'),
      ...Array.from({ length: 20 }, (_, n) => calls(`c${n}`, { title: `call ${n}` })),
    );
    const client = await (await watch(runId)).until(sawText('call 19'));
    const before = client.of('conversation').length;
    await runner.report(calls('c19', { status: 'completed' }));
    await client.until(() => client.of('conversation').length > before);
    const news = client.of('conversation').slice(before);
    expect(news.map(({ data }) => data.message.role)).toEqual(['tool']);
    await expectToMatch(runId, client.events);
    await runner.finish();
  });

  it('sends the work of sub-agents as nested steps', async () => {
    const runId = await createRun();
    const client = await watch(runId);
    const runner = await TestRunner.take(fixture.api, runId);
    await runner.startAgent();
    await runner.report(started, calls('agent', { tool_name: 'Task', title: 'Look around' }));
    await runner.report(calls('inner', { title: 'deep', parent_tool_call_id: 'agent' }));
    await client.until(sawText('deep'));
    expect(client.of('conversation').some(({ data }) => data.path.length === 2)).toBe(true);
    await runner.report(ended);
    await runner.finish();
    await client.closed;
    await expectToMatch(runId, client.events);
  });

  it('sends comments to keep the stream open', async () => {
    const client = await watch(await createRun());
    await client.until(({ beats }) => beats >= 2);
    expect(client.events.map(({ event }) => event)).toEqual(['state', 'timeline']);
  });
});

describe('resuming', () => {
  it.each(['header', 'parameter'])('continues at another process by %s without loss or duplicates', async (by) => {
    const runId = await createRun();
    const runner = await TestRunner.take(fixture.api, runId);
    const first = await watch(runId);
    await runner.startAgent();
    await runner.report(started, says('m1', 'Hel'));
    await first.until(sawText('Hel'));
    await first.leave();
    await runner.report(says('m1', 'lo.'), calls('c1', { title: 'ls' }), ended);
    const lastEventId = first.lastId;
    const second = await watch(runId, {
      at: other,
      ...(by === 'header' ? { lastEventId } : { query: `last_event_id=${encodeURIComponent(lastEventId)}` }),
    });
    await runner.finish();
    await second.closed;
    // The set-up was reported before and has not changed since.
    expect(second.of('conversation').map(({ data }) => data.path)).not.toContainEqual([0]);
    await expectToMatch(runId, [...first.events, ...second.events]);
  });

  it('works from every event', async () => {
    const { id } = await fixture.runs.build({ by: fixture.member, team: fixture.team, state: 'SUCCEEDED' });
    const whole = await watch(id);
    await whole.closed;
    await expectToMatch(id, whole.events);
    for (const [index, { id: lastEventId }] of whole.events.entries()) {
      if (lastEventId === whole.lastId) {
        await fixture.request(204, `GET /agent/runs/${id}/events?last_event_id=${lastEventId}`, {
          token: fixture.member.token,
        });
        continue;
      }
      const rest = await watch(id, { at: index % 2 === 0 ? other : fixture.api, lastEventId });
      await rest.closed;
      expect(rest.events.at(0)?.event).toBe('state');
      expect(rest.events.at(-1)?.event).toBe('end');
      await expectToMatch(id, [...whole.events.slice(0, index + 1), ...rest.events]);
    }
  });

  it.each([
    ['nonsense', 'nonsense'],
    ['a number', '12'],
    ['a forged one', 'WzEsMV0.AAAAAAAAAAAAAAAAAAAAAA'],
  ])('rejects an id that is %s', async (_name, lastEventId) => {
    const runId = await createRun();
    const { body } = await fixture.request(400, `GET /agent/runs/${runId}/events`, {
      token: fixture.member.token,
      headers: { 'last-event-id': lastEventId },
    });
    expect(body.errors).toEqual([{ pointer: '/Last-Event-ID', detail: 'is not the id of an event of this run' }]);
  });

  it('rejects the id of another run', async () => {
    const client = await (await watch(await createRun())).until(({ events }) => events.length > 1);
    const { body } = await fixture.request(
      400,
      `GET /agent/runs/${await createRun()}/events?last_event_id=${client.lastId}`,
      { token: fixture.member.token },
    );
    expect(body.errors).toEqual([{ pointer: '/last_event_id', detail: 'is not the id of an event of this run' }]);
  });
});

describe('authorization to stream', () => {
  it('allows a viewer of the team, and rejects others and unknown runs like getRun', async () => {
    const runId = await createRun();
    const viewing = await LiveClient.watch(fixture.api, runId, { token: fixture.viewer.token });
    open.add(viewing);
    await viewing.until(({ events }) => events.length > 0);
    await fixture.request(403, `GET /agent/runs/${runId}/events`, { token: fixture.stranger.token });
    await fixture.request(404, `GET /agent/runs/${UNKNOWN_RUN_ID}/events`, { token: fixture.member.token });
    await fixture.request(401, `GET /agent/runs/${runId}/events`);
    await fixture.request(400, `GET /agent/runs/${runId}/events?cursor=1`, { token: fixture.member.token });
  });

  it('ends the stream when the token is revoked or the member leaves the team', async () => {
    const runId = await createRun();
    const token = await fixture.api.identities.token(fixture.member);
    const leaver = await fixture.api.identities.user({ [fixture.team]: 'member' });
    const clients = await Promise.all(
      [token, leaver.token].map((theirs) => LiveClient.watch(fixture.api, runId, { token: theirs })),
    );
    const staying = await watch(runId);
    await fixture.database.query(
      `UPDATE headrace.tokens SET revoked_at = headrace.now() WHERE hash = sha256(convert_to($1, 'UTF8'))`,
      [token],
    );
    await fixture.database.query('DELETE FROM headrace.memberships WHERE user_uid = $1', [leaver.uid]);
    for (const client of clients) {
      await client.closed;
      expect(client.events.at(-1)).toMatchObject({ event: 'end', data: { reason: 'access_ended' } });
    }
    expect(staying.isClosed).toBe(false);
  });
});

describe('concurrent streams', () => {
  it('of one run need as many queries as one stream', async () => {
    const runId = await createRun();
    const runner = await TestRunner.take(fixture.api, runId);
    await runner.startAgent();
    const clients = await Promise.all(Array.from({ length: 40 }, () => watch(runId)));
    await Promise.all(clients.map((client) => client.until(client.sawState('INPROGRESS'))));
    const statements = await statementsDuring(fixture.api, async () => {
      await runner.report(started, says('m1', 'To all of you.'));
      await Promise.all(clients.map((client) => client.until(sawText('To all of you.'))));
    });
    const reads = statements.filter((name) => name === 'run-log.read' || name.startsWith('conversation-folds'));
    expect(reads.length).toBeLessThanOrEqual(2);
    expect(statements.filter((name) => name === 'runs.find')).toEqual([]);
    await runner.finish();
  });

  it('are limited per principal and per process', async () => {
    const limited = await startTestApi({
      database: fixture.database,
      settings: { ...QUICK, liveMaxStreams: 2, liveMaxStreamsPerPrincipal: 1 },
    });
    try {
      const runId = await createRun();
      const line = `GET /agent/runs/${runId}/events`;
      const mine = await watch(runId, { at: limited });
      const { headers } = await limited.request(429, line, { token: fixture.member.token });
      expect(headers.get('retry-after')).toBe('5');
      open.add(await LiveClient.watch(limited, runId, { token: fixture.viewer.token }));
      const third = await limited.identities.user({ [fixture.team]: 'member' });
      await limited.request(503, line, { token: third.token });
      await mine.leave();
      // The server notices after a while that the client is gone.
      let again: LiveClient | null = null;
      while (!again) again = await LiveClient.watch(limited, runId, { token: third.token }).catch(() => null);
      open.add(again);
    } finally {
      await limited.close();
    }
  });
});

describe('a client of the stream', () => {
  it('that does not read is disconnected, and can resume', async () => {
    const runId = await createRun();
    const runner = await TestRunner.take(fixture.api, runId);
    await runner.startAgent();
    const port = Number(new URL(fixture.api.url).port);
    const socket = connect({ port, host: '127.0.0.1' });
    socket.write(
      `GET /api/v1/agent/runs/${runId}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${fixture.member.token}\r\n\r\n`,
    );
    await once(socket, 'readable');
    const gone = fixture.api.log.lines.filter(({ status }) => status === 499).length;
    // Nobody reads: more than all buffers in between hold.
    const text = 'x'.repeat(500_000);
    await runner.report(started);
    for (let n = 0; n < 24; n += 1) await runner.report(says(`m${n}`, text));
    const deadline = performance.now() + 10_000;
    while (fixture.api.log.lines.filter(({ status }) => status === 499).length === gone) {
      if (performance.now() > deadline) throw new Error('The stalled stream was not closed.');
      await fixture.api.atOrigin(200, 'GET /health/live');
    }
    socket.destroy();
    await runner.report(ended);
    await runner.finish();
    // On a busy machine this reader may be let go as well, and then continues where it was.
    let client = await watch(runId);
    await client.closed;
    const events = [...client.events];
    while (client.of('end').length === 0) {
      client = await watch(runId, client.lastId === '' ? {} : { lastEventId: client.lastId });
      await client.closed;
      events.push(...client.events);
    }
    await expectToMatch(runId, events);
  });

  it('is disconnected without an end event when the process stops', async () => {
    const third = await startTestApi({ database: fixture.database, settings: QUICK });
    const runId = await createRun();
    const client = await (await watch(runId, { at: third })).until(({ events }) => events.length > 1);
    const before = performance.now();
    await third.close();
    await client.closed;
    expect(performance.now() - before).toBeLessThan(3000);
    expect(client.of('end')).toEqual([]);
    const again = await watch(runId, { lastEventId: client.lastId });
    await again.until(({ events }) => events.length > 0);
    expect(again.of('timeline')).toEqual([]);
  });

  it('receives an end event when the run is deleted', async () => {
    const { id } = await fixture.runs.build({ by: fixture.member, team: fixture.team });
    const client = await (await watch(id)).until(({ events }) => events.length > 0);
    await fixture.database.query('DELETE FROM headrace.runs WHERE id = $1', [id]);
    await client.closed;
    expect(client.events.at(-1)).toMatchObject({ event: 'end', data: { reason: 'run_deleted' } });
  });
});
