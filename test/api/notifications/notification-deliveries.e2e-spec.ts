import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DeliverNotifications } from '#domain/notifications';
import { SweepExecutions } from '#execution/executions';
import { ArtifactBuilder, RunBuilder, TestRunner, type TestPrincipal } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { pointersOf, requestAnyStatus, sendConcurrently } from '../../support/api-requests.js';
import {
  NOTIFICATION_WEBHOOKS,
  WebhookReceiver,
  deliverDue,
  type Received,
  LOCAL_RECEIVERS,
} from './webhook-receiver.js';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let fixture: ApiFixture;
let receiver: WebhookReceiver;
let hook: { uid: string; secret: string };
/** A separate team for each test. */
let team: string;
let admin: TestPrincipal;

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: LOCAL_RECEIVERS });
});
afterAll(() => fixture.close());
beforeEach(async () => {
  team = await fixture.api.identities.team();
  admin = await fixture.api.identities.user({ [team]: 'admin' });
  receiver = await WebhookReceiver.listen();
  hook = await make();
});
afterEach(async () => {
  await fixture.request(204, `DELETE ${NOTIFICATION_WEBHOOKS}/${hook.uid}`, { token: admin.token });
  await receiver.close();
});

const make = async (fields: object = {}) =>
  (
    await fixture.request(201, `POST ${NOTIFICATION_WEBHOOKS}`, {
      token: admin.token,
      body: { name: 'hook', url: receiver.url, ...fields },
    })
  ).body;
const put = async (body: object) =>
  (await fixture.request(200, `PUT ${NOTIFICATION_WEBHOOKS}/${hook.uid}`, { token: admin.token, body })).body;
const shown = async (uid = hook.uid) =>
  (await fixture.request(200, `GET ${NOTIFICATION_WEBHOOKS}/${uid}`, { token: admin.token })).body;
const deliveries = async (uid = hook.uid) =>
  (await fixture.request(200, `GET ${NOTIFICATION_WEBHOOKS}/${uid}/deliveries`, { token: admin.token })).body
    .deliveries;
const createRun = async (fields: object = {}): Promise<string> =>
  (await fixture.request(200, 'POST /agent/runs', { token: admin.token, body: { prompt: 'Go.', ...fields } })).body
    .run_id;
const cancel = async (runId: string) =>
  fixture.request(200, `POST /agent/runs/${runId}/cancel`, { token: admin.token });
/** A run that has ended, so that a message waits. */
const cancelledRun = async (): Promise<string> => {
  const runId = await createRun();
  await cancel(runId);
  return runId;
};
const idOf = ({ headers }: Received) => headers['webhook-id'];
const typesOf = (received: readonly Received[]) => received.map(({ body }) => JSON.parse(body).type as string);

describe('a filter', () => {
  const reported = async (runId: string): Promise<boolean> => {
    await cancel(runId);
    await deliverDue(fixture.api);
    return receiver.take().some(({ body }) => JSON.parse(body).data.run_id === runId);
  };
  const [schedule, automation] = ['a-schedule', 'an-automation'];
  const ofSchedule = async (): Promise<string> => {
    const runId = await createRun();
    await fixture.database.query(
      `UPDATE runs SET schedule = jsonb_build_object('schedule_id', $2::text) WHERE id = $1`,
      [runId, schedule],
    );
    return runId;
  };

  it('selects runs of schedules and automations', async () => {
    await put({ filter: { schedule_ids: [schedule], automation_ids: [automation] } });
    expect(await reported(await createRun())).toBe(false);
    expect(await reported(await createRun({ metadata: { automation_id: 'another' } }))).toBe(false);
    expect(await reported(await createRun({ metadata: { automation_id: automation } }))).toBe(true);
    expect(await reported(await ofSchedule())).toBe(true);
    await put({ filter: { automation_ids: [automation] } });
    expect(await reported(await ofSchedule())).toBe(false);
    await put({ filter: null });
    expect(await shown()).not.toHaveProperty('filter');
    expect(await reported(await createRun())).toBe(true);
  });

  it('selects runs by what they have made', async () => {
    await put({ filter: { artifact_types: ['PULL_REQUEST', 'PLAN'] } });
    expect((await put({ name: 'renamed' })).filter).toEqual({ artifact_types: ['PULL_REQUEST', 'PLAN'] });
    const artifacts = new ArtifactBuilder(fixture.api.database);
    const [none, other, wanted] = [await createRun(), await createRun(), await createRun()];
    await artifacts.build(other, { type: 'EXTERNAL_REFERENCE' });
    await artifacts.build(wanted, { type: 'PULL_REQUEST' });
    expect([await reported(none), await reported(other), await reported(wanted)]).toEqual([false, false, true]);
  });

  it.each([
    [{ schedule_ids: [] }, '/filter/schedule_ids'],
    [{ artifact_types: ['VIDEO'] }, '/filter/artifact_types/0'],
    [{ state: 'FAILED' }, '/filter/state'],
  ])('%j is rejected', async (filter, pointer) => {
    const { body } = await fixture.request(400, `PUT ${NOTIFICATION_WEBHOOKS}/${hook.uid}`, {
      token: admin.token,
      body: { filter },
    });
    expect(pointersOf(body)).toEqual([pointer]);
  });
});

describe('a message', () => {
  it('is signed by Standard Webhooks and contains the result of the run', async () => {
    const runId = await createRun({ title: 'Tidy up', metadata: { ticket: 'T-1' } });
    const runner = await TestRunner.take(fixture.api, runId);
    await runner.startAgent();
    expect(await deliverDue(fixture.api)).toBe(0);
    await runner.report(
      ['turn_started', { turn_id: 't1', prompt: 'Go.' }],
      ['message_chunk', { message_id: 'm1', text: 'I look at it.' }],
      ['message_chunk', { message_id: 'm2', text: 'It is tidy, ' }],
      ['message_chunk', { message_id: 'sub', text: 'Of a nested agent.', parent_tool_call_id: 'c1' }],
      ['message_chunk', { message_id: 'm2', text: 'with https://bob:hunter2@example.org/x.git' }],
      ['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }],
    );
    const artifacts = new ArtifactBuilder(fixture.api.database);
    await artifacts.build(runId, { type: 'PULL_REQUEST', url: 'https://forge.example/pr/1' });
    expect(await deliverDue(fixture.api)).toBe(1);
    const [message] = receiver.take();
    expect(message).toMatchObject({ method: 'POST', url: '/hook?key=k' });
    expect(message?.headers).toMatchObject({ 'content-type': 'application/json' });
    expect(message?.headers).not.toHaveProperty('authorization');
    const payload = new Webhook(hook.secret).verify(message?.body ?? '', message?.headers as Record<string, string>);
    const { body: run } = await fixture.request(200, `GET /agent/runs/${runId}`, { token: admin.token });
    expect(payload).toEqual({
      type: 'run.succeeded',
      timestamp: expect.stringMatching(/Z$/),
      data: {
        run_id: runId,
        state: 'SUCCEEDED',
        title: 'Tidy up',
        source: run.source,
        created_at: run.created_at,
        updated_at: run.updated_at,
        started_at: run.started_at,
        conversation_id: run.conversation_id,
        metadata: { ticket: 'T-1' },
        result: 'It is tidy, with https://***@example.org/x.git',
        artifacts: [{ artifact_type: 'PULL_REQUEST', url: 'https://forge.example/pr/1' }],
        session_link: run.session_link,
        creator: { type: 'user', uid: admin.uid },
        executor: { type: 'user', uid: admin.uid },
        scope: { type: 'Team', uid: team },
      },
    });
    expect(await deliveries()).toEqual([
      {
        delivery_id: message?.headers['webhook-id'],
        type: 'run.succeeded',
        run_id: runId,
        status: 'delivered',
        attempt_count: 1,
        attempts: [
          { at: expect.any(String), duration_ms: expect.any(Number), response_status: 204, response_body: '' },
        ],
        created_at: expect.any(String),
        finished_at: expect.any(String),
      },
    ]);
  });

  it.each(['slack', 'discord', 'teams'])('has the form of %s', async (format) => {
    await put({ format });
    const runId = await createRun({ title: 'Tidy <!channel> up' });
    const { publicUrl } = fixture.api.settings;
    await fixture.database.query('UPDATE runs SET trigger_url = $2 WHERE id = $1', [
      runId,
      `${publicUrl}/api/v1/factories/f1/webhooks/w1/deliveries/d1`,
    ]);
    const runner = await TestRunner.take(fixture.api, runId);
    await runner.startAgent();
    await runner.report(
      ['turn_started', { turn_id: 't1', prompt: 'Go.' }],
      ['message_chunk', { message_id: 'm1', text: 'It is tidy.' }],
      ['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }],
    );
    await fixture.request(202, `POST ${NOTIFICATION_WEBHOOKS}/${hook.uid}/test`, { token: admin.token });
    expect(await deliverDue(fixture.api)).toBe(2);
    const bodies = receiver.take().map(({ body }) => body);
    const result = bodies.find((body) => body.includes('It is tidy.')) ?? '';
    expect(Object.keys(JSON.parse(result) as object)).toContain(
      { slack: 'blocks', discord: 'embeds', teams: 'attachments' }[format],
    );
    expect(result).toContain(`/runs/${runId}`);
    expect(result).toMatch(/\/console\/webhooks\/w1\?factory=f1(&|&amp;)delivery=d1/);
    expect(result).not.toContain('/api/v1/');
    expect(bodies.filter((body) => body.includes('Notifications of the webhook hook arrive here.'))).toHaveLength(1);
    if (format === 'slack') expect(result).toContain('Tidy &lt;!channel&gt; up');
  });

  it('is sent for every end of a run, and for a permission request', async () => {
    const runs = { failed: await createRun(), errored: await createRun(), blocked: await createRun() };
    const failing = await TestRunner.take(fixture.api, runs.failed);
    await failing.startAgent();
    await failing.finish('failed', { message: 'It broke.', error_code: 'agent_process_failed' });
    const asking = await TestRunner.take(fixture.api, runs.blocked);
    await asking.startAgent();
    await asking.report(
      ['turn_started', { turn_id: 't1', prompt: 'Go.' }],
      ['permission_requested', { approval_id: 'a1', title: 'May I?', options: [], ask: true }],
    );
    const silent = await TestRunner.take(fixture.api, runs.errored);
    await silent.startAgent();
    await fixture.database.query(
      `UPDATE executions SET lease_expires_at = headrace.now() - interval '1 hour' WHERE run_id = $1`,
      [runs.errored],
    );
    await fixture.api.app.get(SweepExecutions).execute();
    await cancel(runs.blocked);
    await deliverDue(fixture.api);
    const reported = receiver.take().map(({ body }) => JSON.parse(body));
    const about = (runId: string) =>
      reported
        .filter(({ data }) => data.run_id === runId)
        .map(({ type, data }) => [type, data.state, data.status_message?.error_code])
        .sort();
    expect(about(runs.failed)).toEqual([['run.failed', 'FAILED', 'agent_process_failed']]);
    expect(about(runs.errored)).toEqual([['run.errored', 'ERROR', 'infrastructure_timeout']]);
    expect(about(runs.blocked)).toEqual([
      ['run.blocked', 'BLOCKED', undefined],
      ['run.cancelled', 'CANCELLED', undefined],
    ]);
  });

  it('about a permission request contains its id, and each request has one message', async () => {
    const runId = await createRun();
    const runner = await TestRunner.take(fixture.api, runId);
    await runner.startAgent();
    const ask = (id: string, title: string) =>
      ['permission_requested', { approval_id: id, title, options: [], ask: true }] as const;
    await runner.report(['turn_started', { turn_id: 't1', prompt: 'Go.' }], ask('a1', 'May I?'));
    await runner.report(ask('a2', 'Push to https://me:swordfish@git.example.com'));
    await deliverDue(fixture.api);
    const { body } = await fixture.request(200, `GET /agent/runs/${runId}/approvals`, { token: admin.token });
    const [first, second] = body.approvals;
    const idOfApproval = ({ data }: { data: { approval: { approval_id: string } } }) => data.approval.approval_id;
    const reported = receiver
      .take()
      .map(({ body: text }) => JSON.parse(text))
      .sort((one, other) => idOfApproval(one).localeCompare(idOfApproval(other)));
    const link = (id: string): string =>
      reported[0].data.session_link.replace(/runs\/.*/, `console/inbox?item=${runId}/${id}`);
    expect(reported.map(({ type, data }) => [type, data.state, data.approval])).toEqual([
      [
        'run.blocked',
        'BLOCKED',
        { approval_id: 'a1', title: 'May I?', expires_at: first.expires_at, link: link('a1') },
      ],
      [
        'run.blocked',
        'BLOCKED',
        {
          approval_id: 'a2',
          title: 'Push to https://***@git.example.com',
          expires_at: second.expires_at,
          link: link('a2'),
        },
      ],
    ]);
    const question = { approval_id: 'a3', kind: 'question', title: 'Which one?', options: [], ask: true };
    await runner.report(['permission_requested', question]);
    await deliverDue(fixture.api);
    expect(JSON.parse(receiver.take()[0]?.body ?? '').data.approval).toMatchObject({
      approval_id: 'a3',
      kind: 'question',
      title: 'Which one?',
    });
    await cancel(runId);
    await deliverDue(fixture.api);
    expect(JSON.parse(receiver.take()[0]?.body ?? '').data).not.toHaveProperty('approval');
  });

  it('is sent once to each subscribed webhook, and to no other team', async () => {
    await make({ name: 'any', events: ['run.state_changed'] });
    await make({ name: 'both', events: ['run.state_changed', 'run.cancelled'] });
    await make({ name: 'none', events: ['run.blocked'] });
    await make({ name: 'off', enabled: false });
    await cancelledRun();
    const stranger = await fixture.api.identities.user({ [await fixture.api.identities.team()]: 'owner' });
    await new RunBuilder(fixture.database).build({ by: stranger });
    await deliverDue(fixture.api);
    expect(typesOf(receiver.take()).sort()).toEqual(['run.cancelled', 'run.cancelled', 'run.state_changed']);
  });

  it('is not stored when the transition of the run is rolled back', async () => {
    const runId = await createRun();
    // Fails the cancel after the message was written.
    await fixture.database.query(
      `CREATE FUNCTION headrace.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END';
       CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON headrace.notification_deliveries DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION headrace.refuse()`,
    );
    await fixture.request(500, `POST /agent/runs/${runId}/cancel`, { token: admin.token });
    await fixture.database.query(
      'DROP TRIGGER refuse ON headrace.notification_deliveries; DROP FUNCTION headrace.refuse',
    );
    const { body } = await fixture.request(200, `GET /agent/runs/${runId}`, { token: admin.token });
    expect(body.state).toBe('QUEUED');
    expect(await deliveries()).toEqual([]);
    fixture.api.log.clear();
  });

  it('is omitted while its webhook is being deleted, and the run changes its state', async () => {
    const { uid } = await make();
    const runId = await createRun();
    const [answer] = await sendConcurrently(
      fixture.api,
      `DELETE FROM headrace.notification_webhooks WHERE uid = '${uid}'`,
      () => [requestAnyStatus(fixture.api, `POST /agent/runs/${runId}/cancel`, { token: admin.token })],
    );
    expect(answer?.status).toBe(200);
    expect(await deliveries()).toHaveLength(1);
  });

  it('is deleted with its run', async () => {
    const runId = await cancelledRun();
    await fixture.database.query('DELETE FROM runs WHERE id = $1', [runId]);
    expect(await deliveries()).toEqual([]);
  });
});

describe('a message whose delivery fails', () => {
  it('is sent again later with the same id, and the log has the response of the receiver', async () => {
    await cancelledRun();
    receiver.status = 500;
    receiver.body = `broken ${'x'.repeat(5000)}`;
    expect(await deliverDue(fixture.api)).toBe(1);
    expect(await deliverDue(fixture.api)).toBe(0);
    const [waiting] = await deliveries();
    expect(waiting).toMatchObject({ status: 'pending', attempt_count: 1, next_attempt_at: expect.any(String) });
    expect(waiting.attempts[0]).toMatchObject({ response_status: 500 });
    expect(waiting.attempts[0].response_body).toHaveLength(1024);
    const { body } = await fixture.request(200, `GET ${NOTIFICATION_WEBHOOKS}/${hook.uid}/deliveries`, {
      token: (await fixture.api.identities.user({ [team]: 'viewer' })).token,
    });
    expect(body.deliveries[0].attempts[0]).not.toHaveProperty('response_body');
    await fixture.api.advanceClock(10_000);
    receiver.status = 200;
    expect(await deliverDue(fixture.api)).toBe(1);
    const [first, second] = receiver.take();
    expect(first && second && [idOf(second), second.body]).toEqual(first && [idOf(first), first.body]);
    expect((await deliveries())[0]).toMatchObject({ status: 'delivered', attempt_count: 2 });
  });

  it('waits for the time in Retry-After', async () => {
    await cancelledRun();
    receiver.status = 503;
    receiver.headers = { 'retry-after': '900' };
    await deliverDue(fixture.api);
    await fixture.api.advanceClock(14 * MINUTE);
    expect(await deliverDue(fixture.api)).toBe(0);
    await fixture.api.advanceClock(MINUTE);
    expect(await deliverDue(fixture.api)).toBe(1);
  });

  it('is not sent to the target of a redirect', async () => {
    await cancelledRun();
    receiver.status = 307;
    receiver.headers = { location: '/elsewhere' };
    await deliverDue(fixture.api);
    expect(receiver.take().map(({ url }) => url)).toEqual(['/hook?key=k']);
    expect((await deliveries())[0]).toMatchObject({ status: 'pending', attempts: [{ response_status: 307 }] });
  });

  it('is abandoned after nine attempts; the webhook is disabled when every attempt failed for days', async () => {
    await cancelledRun();
    receiver.status = 500;
    for (let attempt = 1; attempt <= 9; attempt += 1) {
      expect(await deliverDue(fixture.api)).toBe(1);
      await fixture.api.advanceClock(2 * DAY);
    }
    expect(await deliverDue(fixture.api)).toBe(0);
    expect((await deliveries())[0]).toMatchObject({ status: 'failed', attempt_count: 9 });
    expect(await shown()).toMatchObject({ enabled: true });
    await cancelledRun();
    await cancelledRun();
    expect(await deliverDue(fixture.api)).toBe(2);
    expect(await shown()).toMatchObject({
      enabled: false,
      disabled_reason: expect.stringMatching(/^Nothing was delivered in 10 attempts over 18\.\d days\.$/),
    });
    const now = await deliveries();
    expect(now.map(({ status }: { status: string }) => status).sort()).toEqual(['dropped', 'failed', 'failed']);
    expect(await put({ enabled: true })).not.toHaveProperty('disabled_reason');
  });

  it('does not count towards disabling the webhook after one success', async () => {
    await cancelledRun();
    receiver.status = 500;
    await deliverDue(fixture.api);
    receiver.status = 200;
    await fixture.api.advanceClock(MINUTE);
    await deliverDue(fixture.api);
    const [row] = await fixture.database.query(
      'SELECT failures, failing_since FROM notification_webhooks WHERE uid = $1',
      [hook.uid],
    );
    expect(row).toEqual({ failures: 0, failing_since: null });
  });

  it('with 410 disables the webhook at once and drops its pending messages', async () => {
    await cancelledRun();
    receiver.status = 500;
    await deliverDue(fixture.api);
    await cancelledRun();
    receiver.status = 410;
    await deliverDue(fixture.api);
    expect(await shown()).toMatchObject({ enabled: false, disabled_reason: 'The receiver answered 410 Gone.' });
    expect((await deliveries()).map(({ status }: { status: string }) => status)).toEqual(['failed', 'dropped']);
  });

  it('because the connection was refused has an error in the log without an address', async () => {
    await put({ url: 'http://127.0.0.1:1/' });
    await cancelledRun();
    await deliverDue(fixture.api);
    const [{ attempts }] = await deliveries();
    expect(attempts).toEqual([
      { at: expect.any(String), duration_ms: expect.any(Number), error: 'The connection failed (ECONNREFUSED).' },
    ]);
  });
});

describe('a process that stops after sending and before storing the result', () => {
  it('leaves the message to another process, which sends it again with the same id', async () => {
    await cancelledRun();
    const deliver = fixture.api.app.get(DeliverNotifications);
    const [taken] = await deliver.claim(10);
    expect(await deliverDue(fixture.api)).toBe(0);
    await fixture.api.advanceClock(MINUTE);
    expect(await deliverDue(fixture.api)).toBe(1);
    // The first one was only slow: what it notes comes too late to count.
    if (taken) await deliver.attempt(taken, new AbortController().signal);
    const received = receiver.take();
    expect(received).toHaveLength(2);
    expect(new Set(received.map(idOf)).size).toBe(1);
    const [delivery] = await deliveries();
    expect(delivery).toMatchObject({ status: 'delivered', attempt_count: 2 });
    expect(delivery.attempts).toHaveLength(1);
  });

  it('stores no result when the attempt is aborted', async () => {
    await cancelledRun();
    const deliver = fixture.api.app.get(DeliverNotifications);
    const [taken] = await deliver.claim(10);
    if (taken) await deliver.attempt(taken, AbortSignal.abort());
    expect((await deliveries())[0]).toMatchObject({ status: 'pending', attempts: [] });
  });

  it('and processes that claim at the same time never claim the same message', async () => {
    for (let run = 0; run < 6; run += 1) await cancelledRun();
    const deliver = fixture.api.app.get(DeliverNotifications);
    const taken = (await Promise.all([1, 2, 3, 4].map(() => deliver.claim(2)))).flat().map(({ id }) => id);
    expect(taken.length).toBeGreaterThan(0);
    expect(new Set(taken).size).toBe(taken.length);
    expect(await deliver.claim(10, [hook.uid])).toEqual([]);
  });
});

describe('rotateNotificationWebhookSecret', () => {
  it('signs messages with both secrets for a day, then with the new one only', async () => {
    const { body } = await fixture.request(200, `POST ${NOTIFICATION_WEBHOOKS}/${hook.uid}/rotate-secret`, {
      token: admin.token,
    });
    const accepted = async (): Promise<boolean[]> => {
      await cancelledRun();
      await deliverDue(fixture.api);
      const [message] = receiver.take();
      const headers: Received['headers'] = message?.headers ?? {};
      const at = new Date(Number(headers['webhook-timestamp']) * 1000);
      const signatures = String(headers['webhook-signature']).split(' ');
      return [body.secret, hook.secret].map((secret) =>
        signatures.includes(new Webhook(secret).sign(String(headers['webhook-id']), at, message?.body ?? '')),
      );
    };
    expect(await accepted()).toEqual([true, true]);
    await fixture.api.advanceClock(DAY + MINUTE);
    expect(await accepted()).toEqual([true, false]);
  });
});

describe('testNotificationWebhook', () => {
  it('returns 202 and makes one attempt, also when the webhook is disabled; 409 while another test is pending', async () => {
    await put({ enabled: false });
    const test = (status: number) =>
      fixture.request(status, `POST ${NOTIFICATION_WEBHOOKS}/${hook.uid}/test`, { token: admin.token });
    const { body } = await test(202);
    expect(body).toMatchObject({ type: 'webhook.test', status: 'pending', attempt_count: 0, attempts: [] });
    await test(409);
    receiver.status = 500;
    expect(await deliverDue(fixture.api)).toBe(1);
    const [message] = receiver.take();
    expect(message && [idOf(message), JSON.parse(message.body)]).toEqual([
      body.delivery_id,
      { type: 'webhook.test', timestamp: body.created_at, data: { webhook_uid: hook.uid, webhook_name: 'hook' } },
    ]);
    expect((await deliveries())[0]).toMatchObject({ status: 'failed', attempt_count: 1 });
    await test(202);
  });
});

describe('listNotificationDeliveries', () => {
  it('returns each delivery once, newest first; rejects a foreign cursor or an invalid limit with 400', async () => {
    const runs: string[] = [];
    for (let run = 0; run < 5; run += 1) runs.unshift(await cancelledRun());
    const page = async (query: string, status = 200) =>
      (
        await fixture.request(status, `GET ${NOTIFICATION_WEBHOOKS}/${hook.uid}/deliveries?${query}`, {
          token: admin.token,
        })
      ).body;
    const met: string[] = [];
    let query = 'limit=2';
    for (;;) {
      const { deliveries: found, page_info: info } = await page(query);
      met.push(...found.map(({ run_id }: { run_id: string }) => run_id));
      if (!info.has_next_page) break;
      query = `limit=2&cursor=${info.next_cursor}`;
    }
    expect(met).toEqual(runs);
    expect(pointersOf(await page('cursor=nonsense', 400))).toEqual(['/cursor']);
    expect(pointersOf(await page('limit=101', 400))).toEqual(['/limit']);
    const other = await make();
    const foreign = await fixture.request(400, `GET ${NOTIFICATION_WEBHOOKS}/${other.uid}/deliveries?${query}`, {
      token: admin.token,
    });
    expect(pointersOf(foreign.body)).toEqual(['/cursor']);
  });
});
