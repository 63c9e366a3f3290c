import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ConcurrentRuns } from '../../../libs/domain/runs/src/application/concurrent-runs.js';
import { PlacementStore } from '../../../libs/execution/executions/src/persistence/placement.store.js';
import type { BuiltWebhook } from '#testing';
import { ApiFixture, automationsOf } from '../../support/api-fixture.js';
import { githubDelivery } from '../../support/github-deliveries.js';
import { type FiringProcess, startFiring } from './firing-process.js';

let fixture: ApiFixture;
let processor: FiringProcess;
let placement: PlacementStore;
let hook: BuiltWebhook;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  processor = await startFiring(fixture.api.settings);
  placement = fixture.api.app.get(PlacementStore);
});
afterAll(async () => {
  await processor.close();
  await fixture.close();
});
beforeEach(async () => {
  await fixture.database.query('TRUNCATE runs, executions, slot_pools CASCADE');
  await placement.setCapacity();
  hook = await fixture.webhooks.webhook({
    factoryUid: await fixture.createFactory(),
    authMode: 'signature',
    signatureScheme: 'github',
  });
});

const automation = (concurrency: object): Promise<{ uid: string }> =>
  fixture.createAutomation({ triggers: [{ provider: 'github', event: 'issue_opened' }], concurrency }, hook.factoryUid);
async function deliver(number = 1, receivedAt?: Date) {
  const delivery = { ...githubDelivery('issues', 'opened', { issue: { number } }), ...(receivedAt && { receivedAt }) };
  const { id } = await fixture.deliveries.build(hook.id, delivery);
  await processor.evaluateAll();
  const path = `/factories/${hook.factoryUid}/webhooks/${hook.uid}/deliveries/${id}`;
  return (await fixture.requestAsAdmin(200, `GET ${path}`)).automation_results[0];
}
const runIdOf = async (number = 1): Promise<string> => (await deliver(number)).run_id;
const release = () => processor.get(ConcurrentRuns).releaseHeld(new AbortController().signal);
/** The runs that a processor would start now. */
const place = async () => {
  await release();
  return (await placement.placeHosted('test')).map(({ runId }) => runId);
};
const runOf = (runId: string) => fixture.getRun(runId, fixture.admin);
const statesOf = (runIds: readonly string[]) => Promise.all(runIds.map(async (id) => (await runOf(id)).state));
/** Ends a run as its runner would. */
async function end(runId: string, state = 'SUCCEEDED'): Promise<void> {
  await fixture.database.query(`SELECT release_slot(id) FROM executions WHERE run_id = $1 AND ended_at IS NULL`, [
    runId,
  ]);
  await fixture.database.query(
    `UPDATE executions SET phase = 'ended', ended_at = headrace.now() WHERE run_id = $1 AND ended_at IS NULL`,
    [runId],
  );
  await fixture.database.query(
    `UPDATE runs SET state = $2, status_message = '{"message": "It has ended.", "error_code": "agent_process_failed"}' WHERE id = $1`,
    [runId, state],
  );
}
/** As if `seconds` had passed for the runs that wait for later events. */
const wait = (seconds: number) =>
  fixture.database.query(
    `UPDATE concurrency_queue SET start_at = start_at - $1 * interval '1 second', held_since = held_since - $1 * interval '1 second'`,
    [seconds],
  );
/** So many runs that are held, with the columns of one that is built. Returns their ids. */
async function buildHeld(count: number): Promise<string[]> {
  const { id } = await fixture.runs.build({ by: fixture.member, team: fixture.team, columns: { is_held: true } });
  const [columns] = await fixture.database.query<{ names: string }>(
    `SELECT string_agg(quote_ident(column_name), ', ') AS names FROM information_schema.columns
      WHERE table_schema = 'headrace' AND table_name = 'runs' AND column_name <> 'id' AND is_generated = 'NEVER'`,
  );
  const copies = await fixture.database.query<{ id: string }>(
    `INSERT INTO runs (id, ${columns?.names})
     SELECT gen_random_uuid(), ${columns?.names} FROM runs, generate_series(2, $2::int) WHERE id = $1 RETURNING id`,
    [id, count],
  );
  return [id, ...copies.map((copy) => copy.id)];
}
const cancel = (runId: string) => fixture.requestAsAdmin(200, `POST /agent/runs/${runId}/cancel`);

it('a key with many cancelled runs does not delay the runs of other keys', async () => {
  const first = await fixture.runs.build({ by: fixture.member, team: fixture.team });
  await fixture.database.query(
    `INSERT INTO concurrency_queue (slot_key, key, run_id) SELECT slot_key, 'a', id FROM runs WHERE id = $1`,
    [first.id],
  );
  const held = await buildHeld(300);
  await fixture.database.query(
    `INSERT INTO concurrency_queue (slot_key, key, run_id) SELECT slot_key, 'a', id FROM runs WHERE id = ANY ($1::uuid[])`,
    [held],
  );
  await fixture.database.query(`UPDATE runs SET state = 'CANCELLED' WHERE id = ANY ($1::uuid[])`, [held]);
  // They have left the queue, also when a process of an older version cancels them.
  expect(await fixture.database.query('SELECT run_id FROM concurrency_queue')).toEqual([{ run_id: first.id }]);
  expect(await fixture.database.query('SELECT count(*)::int FROM runs WHERE is_held')).toEqual([{ count: 0 }]);
});

describe('the policy queue', () => {
  it('starts the runs of a key one after the other, in the order of their events', async () => {
    await automation({ policy: 'queue' });
    const [first, second, third] = [await runIdOf(), await runIdOf(), await runIdOf()];
    const other = await runIdOf(2);
    expect(await statesOf([first, second, third])).toEqual(['QUEUED', 'QUEUED', 'QUEUED']);
    expect((await runOf(second)).status_message.message).toContain(`The run ${first} with the same concurrency key`);
    expect((await place()).sort()).toEqual([first, other].sort());
    expect(await place()).toEqual([]);
    await end(first, 'FAILED');
    expect(await place()).toEqual([second]);
    expect(await place()).toEqual([]);
    await end(second);
    expect(await place()).toEqual([third]);
    await end(third);
    await end(other);
    await release();
    expect(await fixture.database.query('SELECT 1 FROM concurrency_queue')).toEqual([]);
  });

  it('waits for the runs before a run that was cancelled while it waited', async () => {
    await automation({ policy: 'queue' });
    const [first, second] = [await runIdOf(), await runIdOf()];
    expect(await place()).toEqual([first]);
    await cancel(second);
    const third = await runIdOf();
    expect(await place()).toEqual([]);
    await end(first);
    expect(await place()).toEqual([third]);
    expect(await statesOf([second])).toEqual(['CANCELLED']);
  });

  it('waits for the agent of a run that was cancelled', async () => {
    await automation({ policy: 'queue' });
    const [first, second] = [await runIdOf(), await runIdOf()];
    expect(await place()).toEqual([first]);
    await fixture.database.query(`UPDATE runs SET state = 'CANCELLED' WHERE id = $1`, [first]);
    expect(await place()).toEqual([]);
    await end(first, 'CANCELLED');
    expect(await place()).toEqual([second]);
  });

  it('starts a run at once that continues one which was cancelled while it waited', async () => {
    await automation({ policy: 'queue' });
    const [, second] = [await runIdOf(), await runIdOf()];
    await cancel(second);
    await fixture.database.query('UPDATE runs SET conversation_id = gen_random_uuid() WHERE id = $1', [second]);
    await fixture.requestAsAdmin(200, `POST /agent/runs/${second}/followups`, { message: 'Continue.' });
    expect(await place()).toContain(second);
  });

  it('waits for a run that was created before the policy was changed', async () => {
    const { uid } = await automation({ policy: 'skip' });
    const first = await runIdOf();
    const path = `${automationsOf(hook.factoryUid)}/${uid}`;
    const stored = await fixture.requestAsAdmin(200, `GET ${path}`);
    await fixture.requestAsAdmin(200, `PUT ${path}`, { ...stored, concurrency: { policy: 'queue' } });
    const second = await runIdOf();
    expect(await place()).toEqual([first]);
    await end(first);
    expect(await place()).toEqual([second]);
  });

  it('is decided once when events are evaluated by two processes at the same time', async () => {
    await automation({ policy: 'queue' });
    const another = await startFiring(fixture.api.settings);
    try {
      for (let event = 0; event < 12; event += 1)
        await fixture.deliveries.build(hook.id, githubDelivery('issues', 'opened', { issue: { number: 1 } }));
      await Promise.all([processor.evaluateAll(), another.evaluateAll()]);
    } finally {
      await another.close();
    }
    const queued = await fixture.database.query<{ id: string }>(
      'SELECT r.id FROM concurrency_queue q JOIN runs r ON r.id = q.run_id ORDER BY q.position',
    );
    expect(queued).toHaveLength(12);
    for (const { id } of queued) {
      expect(await place()).toEqual([id]);
      await end(id);
    }
  });

  it('releases the runs of more keys than are visited in a round trip', async () => {
    expect(await buildHeld(501)).toHaveLength(501);
    await fixture.database.query(
      'INSERT INTO concurrency_queue (slot_key, key, run_id) SELECT slot_key, id::text, id FROM runs',
    );
    await release();
    expect(await fixture.database.query('SELECT count(*)::int FROM runs WHERE is_held')).toEqual([{ count: 0 }]);
  });
});

describe('policies that are mixed under one key', () => {
  const KEY = 'ticket';
  const create = async (policy: string, status = 200) => {
    const body = { prompt: 'Work.', team: true, concurrency: { key: KEY, policy } };
    return (await fixture.requestAsAdmin(status, 'POST /agent/runs', body)).run_id as string;
  };

  it('supersede cancels all active runs, and the new one waits until their agents have stopped', async () => {
    const first = await create('queue');
    expect(await place()).toEqual([first]);
    const second = await create('queue');
    await fixture.database.query(`UPDATE runs SET state = 'CLAIMED' WHERE id = $1`, [first]);
    const third = await create('supersede');
    expect(await statesOf([first, second, third])).toEqual(['CANCELLED', 'CANCELLED', 'QUEUED']);
    expect(await place()).toEqual([]);
    await end(first, 'CANCELLED');
    expect(await place()).toEqual([third]);
  });

  it('supersede cancels a run that a runner is about to claim, as soon as it has done so', async () => {
    const first = await create('supersede');
    expect(await place()).toEqual([first]);
    const second = await create('supersede');
    expect(await statesOf([first, second])).toEqual(['PENDING', 'QUEUED']);
    expect(await place()).toEqual([]);
    await fixture.database.query(`UPDATE runs SET state = 'CLAIMED' WHERE id = $1`, [first]);
    expect(await place()).toEqual([]);
    expect((await runOf(first)).status_message.message).toContain(second);
    await end(first, 'CANCELLED');
    expect(await place()).toEqual([second]);
  });

  it('skip is rejected while any run is active', async () => {
    const first = await create('queue');
    expect(await place()).toEqual([first]);
    await cancel(await create('queue'));
    await create('skip', 409);
    await end(first);
    expect(await statesOf([await create('skip')])).toEqual(['QUEUED']);
  });

  it('a run that replaces one which cannot be continued waits for the active one', async () => {
    const first = await create('queue');
    expect(await place()).toEqual([first]);
    await cancel(await create('queue'));
    const third = await create('continue');
    expect(await place()).toEqual([]);
    await end(first);
    expect(await place()).toEqual([third]);
  });

  it('requests that arrive together are never older than each other', async () => {
    for (const policy of ['supersede', 'debounce']) {
      const runs = await Promise.all(Array.from({ length: 20 }, () => create(policy)));
      const states = await statesOf(runs);
      expect(states.filter((state) => state === 'QUEUED')).toHaveLength(1);
      await cancel(runs[states.indexOf('QUEUED')] ?? '');
    }
  });
});

describe('the policy debounce', () => {
  it('starts one run for the newest of the events that follow each other', async () => {
    const { uid } = await automation({ policy: 'debounce', delay_seconds: 30 });
    const first = await runIdOf();
    expect(await place()).toEqual([]);
    expect((await runOf(first)).status_message.message).toMatch(/starts after .* unless a later event replaces it/);
    await wait(20);
    const second = await runIdOf();
    await wait(20);
    expect(await place()).toEqual([]);
    expect(await statesOf([first, second])).toEqual(['CANCELLED', 'QUEUED']);
    expect((await runOf(first)).status_message.message).toContain(second);
    await wait(20);
    expect(await place()).toEqual([second]);
    const { runs } = await fixture.requestAsAdmin(200, `GET /agent/runs?automation_id=${uid}`);
    expect(runs).toHaveLength(2);
  });

  it('waits ten times as long at most', async () => {
    await automation({ policy: 'debounce', delay_seconds: 30 });
    let newest = '';
    for (let event = 0; event < 12; event += 1) {
      newest = await runIdOf();
      await wait(25);
    }
    expect(await place()).toEqual([newest]);
  });

  it('does not replace the run for a newer event', async () => {
    await automation({ policy: 'debounce' });
    const newer = await runIdOf();
    const { run_id: runId, reason } = await deliver(1, new Date(Date.now() - 60_000));
    expect([runId, reason]).toEqual([undefined, expect.stringContaining(`The run ${newer} is for a newer event`)]);
  });

  it('does not replace a run that has started, and waits for its end', async () => {
    await automation({ policy: 'debounce', delay_seconds: 30 });
    const first = await runIdOf();
    await wait(30);
    expect(await place()).toEqual([first]);
    const second = await runIdOf();
    await wait(30);
    expect(await place()).toEqual([]);
    expect(await statesOf([first])).toEqual(['PENDING']);
    await end(first);
    expect(await place()).toEqual([second]);
  });

  it('decides once between an event and the end of the time', async () => {
    await automation({ policy: 'debounce', delay_seconds: 30 });
    for (let round = 0; round < 10; round += 1) {
      const first = await runIdOf();
      await wait(30);
      const [, second] = await Promise.all([release(), runIdOf()]);
      await wait(30);
      const placed = await place();
      const [state] = await statesOf([first]);
      // Either it was released before and works, or it was replaced.
      expect([state, placed]).toEqual(placed[0] === first ? ['PENDING', [first]] : ['CANCELLED', [second]]);
      for (const runId of [first, second]) await end(runId);
      await release();
    }
  });
});

describe('the fields', () => {
  it.each([
    [{ policy: 'queue', delay_seconds: 5 }, '/concurrency/delay_seconds'],
    [{ policy: 'debounce', delay_seconds: 0 }, '/concurrency/delay_seconds'],
    [{ policy: 'debounce', delay_seconds: 86_401 }, '/concurrency/delay_seconds'],
  ])('%j are rejected', async (concurrency, pointer) => {
    const body = await fixture.automationBody(
      { triggers: [{ provider: 'github', event: 'issue_opened' }], concurrency },
      hook.factoryUid,
    );
    const { errors } = await fixture.requestAsAdmin(400, `POST ${automationsOf(hook.factoryUid)}`, body);
    expect(errors).toEqual([{ pointer, detail: expect.any(String) }]);
  });

  it('are part of definition files', async () => {
    const factory = await fixture.createFactory();
    const files = {
      'factory.yaml': 'schemaVersion: v1alpha1\nname: with a delay\n',
      'automations/review/automation.md':
        '---\nconcurrency:\n  policy: debounce\n  delaySeconds: 90\ntriggers:\n  - provider: github\n    event: pull_request_updated\n---\nReview.\n',
    };
    await fixture.applyDefinition(factory, files);
    const { automations } = await fixture.requestAsAdmin(200, `GET ${automationsOf(factory)}`);
    expect(automations[0].concurrency).toEqual({ policy: 'debounce', delay_seconds: 90 });
    const { plan } = await fixture.planDefinition(factory, files);
    expect(plan.map(({ action }: { action: string }) => action)).toEqual(['unchanged', 'unchanged']);
  });
});
