import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { LaunchRun } from '../../../libs/domain/automations/src/application/launch-run.js';
import { SubmitFollowup } from '#domain/runs';
import type { BuiltRun, BuiltWebhook, RunShape } from '#testing';
import { ApiFixture, automationsOf, webhookTrigger } from '../../support/api-fixture.js';
import { githubDelivery } from '../../support/github-deliveries.js';
import { type FiringProcess, startFiring } from './firing-process.js';

let fixture: ApiFixture;
let processor: FiringProcess;
let hook: BuiltWebhook;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  processor = await startFiring(fixture.api.settings);
});
afterAll(async () => {
  await processor.close();
  await fixture.close();
});
beforeEach(async () => {
  hook = await fixture.webhooks.webhook({
    factoryUid: await fixture.createFactory(),
    authMode: 'signature',
    signatureScheme: 'github',
  });
});

const github = (event: string) => ({ provider: 'github', event });
const automation = (fields: object): Promise<{ uid: string }> => fixture.createAutomation(fields, hook.factoryUid);
const opened = (number = 1) => githubDelivery('issues', 'opened', { issue: { number } });
const commented = (number = 1) =>
  githubDelivery('issue_comment', 'created', {
    issue: { number, active_lock_reason: null },
    comment: { author_association: 'OWNER' },
  });
const onPullRequest = (url: string) =>
  githubDelivery('pull_request_review', 'submitted', { pull_request: { html_url: url, draft: false } });

/** Evaluates a delivery. Returns the results of its automations. */
async function deliver(delivery: { body: string; headers?: Readonly<Record<string, string>>; receivedAt?: Date }) {
  const { id } = await fixture.deliveries.build(hook.id, delivery);
  await processor.evaluateAll();
  return resultsOf(id);
}
const resultsOf = async (id: string) =>
  (await fixture.requestAsAdmin(200, `GET /factories/${hook.factoryUid}/webhooks/${hook.uid}/deliveries/${id}`))
    .automation_results;
const runIdOf = async (delivery: Parameters<typeof deliver>[0]): Promise<string> => (await deliver(delivery))[0].run_id;
const runsOf = async ({ uid }: { uid: string }) =>
  (await fixture.requestAsAdmin(200, `GET /agent/runs?limit=500&automation_id=${uid}`)).runs;
const stateOf = async (runId: string) => (await fixture.getRun(runId, fixture.admin)).state;
/** A run of the team that has created a pull request. */
async function creatorOf(url: string, shape: Partial<RunShape>): Promise<BuiltRun> {
  const run = await fixture.runs.build({ by: fixture.member, team: fixture.team, ...shape });
  await fixture.database.query(
    `INSERT INTO artifacts (uid, run_id, slot_key, source_key, artifact_type, data, locator, own_since, run_created_at, created_at)
     SELECT left(md5(id::text), 22), id, slot_key, 'pr', 'PULL_REQUEST', '{}', $2, created_at, created_at, created_at FROM runs WHERE id = $1`,
    [run.id, url],
  );
  return run;
}
const followupsOf = (runId: string): Promise<{ message: string; files: string[] }[]> =>
  fixture.database.query(
    `SELECT f.message, array_agg(a.file_name) FILTER (WHERE a.id IS NOT NULL) AS files FROM run_followups f
       LEFT JOIN run_attachments a ON a.followup_id = f.id WHERE f.run_id = $1 GROUP BY f.id ORDER BY f.position`,
    [runId],
  );

describe('the policy continue', () => {
  it('sends the comment on an issue to the run that another automation has started for it', async () => {
    await automation({ name: 'fix', triggers: [github('issue_opened')] });
    const reply = await automation({
      name: 'reply',
      prompt: 'Answer {{ payload.comment.body }}.',
      triggers: [github('issue_commented')],
      concurrency: { policy: 'continue' },
    });
    const runId = await runIdOf(opened(7));
    const other = await runIdOf(opened(8));
    const comment = commented(7);
    expect(await deliver(comment)).toEqual([
      {
        automation_uid: reply.uid,
        matched: true,
        run_id: runId,
        reason: expect.stringContaining('The run was continued.'),
      },
    ]);
    expect(await runsOf(reply)).toEqual([]);
    const [followup] = await followupsOf(runId);
    expect(followup?.message).toContain('Answer [payload value 1].');
    expect(followup?.files).toEqual([expect.stringMatching(/^event-payload-[0-9a-f]{12}\.json$/)]);
    expect(followup?.message).toContain(`The attached file ${followup?.files[0]} is the request`);
    expect(await followupsOf(other)).toEqual([]);
  });

  it('sends a review to the run that has created the pull request', async () => {
    const url = 'https://github.com/codertocat/hello-world/pull/2';
    const creator = await creatorOf(url, { state: 'INPROGRESS' });
    await automation({ triggers: [github('pull_request_reviewed')], concurrency: { policy: 'continue' } });
    expect(await deliver(onPullRequest(url))).toMatchObject([{ run_id: creator.id }]);
    expect(await followupsOf(creator.id)).toHaveLength(1);
    // A run of another team with the same pull request is not found.
    expect(await deliver(onPullRequest(`${url}0`))).toMatchObject([{ run_id: expect.not.stringMatching(creator.id) }]);
  });

  it('starts a run when there is none, and another one when the run cannot be continued', async () => {
    const { uid } = await automation({ triggers: [github('issue_commented')], concurrency: { policy: 'continue' } });
    const first = await runIdOf(commented());
    expect(await runIdOf(commented())).toBe(first);
    // Cancelled before its agent has started: there is no conversation.
    await fixture.requestAsAdmin(200, `POST /agent/runs/${first}/cancel`);
    const second = await runIdOf(commented());
    expect(second).not.toBe(first);
    expect(await runIdOf(commented())).toBe(second);
    expect(await runsOf({ uid })).toHaveLength(2);
  });

  it.each([
    [
      'has reached a limit',
      { state: 'SUCCEEDED', config: { max_tokens: 1 }, columns: { usage: '{"total_tokens": 5}' } },
    ],
    ['has been cancelled', { state: 'CANCELLED', conversation: true }],
  ] as const)('does not continue a run that %s', async (_what, shape) => {
    const url = `https://github.com/codertocat/hello-world/pull/${shape.state === 'CANCELLED' ? 4 : 3}`;
    const creator = await creatorOf(url, shape);
    const { uid } = await automation({
      triggers: [github('pull_request_reviewed')],
      concurrency: { policy: 'continue' },
    });
    const [result] = await deliver(onPullRequest(url));
    expect(await followupsOf(creator.id)).toEqual([]);
    // Another run in place of one that has reached its limit would have that limit again.
    if (shape.state === 'CANCELLED') expect(await runsOf({ uid })).toHaveLength(1);
    else expect(result).toEqual({ automation_uid: uid, matched: true, reason: expect.stringContaining('max_tokens') });
  });

  it('is not prevented by a trigger for the webhook in the same automation', async () => {
    const { uid } = await automation({
      triggers: [webhookTrigger(hook.uid), github('issue_commented')],
      concurrency: { policy: 'continue' },
    });
    const first = await runIdOf(commented());
    expect(await deliver(commented())).toEqual([expect.objectContaining({ automation_uid: uid, run_id: first })]);
    expect(await runsOf({ uid })).toHaveLength(1);
  });

  it('sends no follow-up for an event whose run was created by an attempt that had not ended', async () => {
    await automation({ triggers: [github('issue_commented')], concurrency: { policy: 'continue' } });
    const { id } = await fixture.deliveries.build(hook.id, commented());
    await processor.evaluateAll();
    const [{ run_id: runId }] = await resultsOf(id);
    // The second attempt has looked for the run before the first one created it.
    vi.spyOn(processor.get(LaunchRun), 'findStarted').mockResolvedValueOnce(new Map());
    await fixture.database.query(
      'UPDATE webhook_deliveries SET evaluated_at = NULL, results = NULL, evaluate_at = headrace.now() WHERE id = $1',
      [id],
    );
    await processor.evaluateAll();
    expect(await resultsOf(id)).toMatchObject([{ run_id: runId }]);
    expect(await followupsOf(runId)).toEqual([]);
  });

  it('stops at the maximum of follow-ups', async () => {
    await automation({
      triggers: [github('issue_commented')],
      concurrency: { policy: 'continue', max_followups: 2 },
    });
    const runId = await runIdOf(commented());
    expect([await runIdOf(commented()), await runIdOf(commented())]).toEqual([runId, runId]);
    expect(await deliver(commented())).toEqual([
      expect.objectContaining({ matched: true, reason: expect.stringContaining('2 follow-ups') }),
    ]);
    expect(await followupsOf(runId)).toHaveLength(2);
  });

  it('stops at the maximum for events that arrive together', async () => {
    await automation({
      triggers: [github('issue_commented')],
      concurrency: { policy: 'continue', max_followups: 2 },
    });
    const runId = await runIdOf(commented());
    await Promise.all(Array.from({ length: 6 }, () => fixture.deliveries.build(hook.id, commented())));
    await processor.evaluateAll();
    expect(await followupsOf(runId)).toHaveLength(2);
  });

  it('sends one follow-up for an event that is evaluated again after a fault', async () => {
    const steady = await automation({
      name: 'a',
      triggers: [github('issue_commented')],
      concurrency: { policy: 'continue' },
    });
    const runId = await runIdOf(commented());
    const submit = processor.get(SubmitFollowup);
    const execute = submit.execute.bind(submit);
    const spy = vi.spyOn(submit, 'execute').mockImplementationOnce(async (...given) => {
      await execute(...given);
      throw new Error('The process ends here.');
    });
    const { id } = await fixture.deliveries.build(hook.id, commented());
    await processor.evaluateAll();
    expect(spy).toHaveBeenCalledTimes(1);
    await fixture.database.query('UPDATE webhook_deliveries SET evaluate_at = headrace.now() WHERE id = $1', [id]);
    await processor.evaluateAll();
    expect(await resultsOf(id)).toMatchObject([{ automation_uid: steady.uid, run_id: runId }]);
    expect(await followupsOf(runId)).toHaveLength(1);
    spy.mockRestore();
  });

  it('is decided by the database for events that arrive together', async () => {
    const { uid } = await automation({ triggers: [github('issue_commented')], concurrency: { policy: 'continue' } });
    const second = await startFiring(fixture.api.settings);
    const ids = await fixture.deliveries.buildMany(hook.id, 12, commented());
    await Promise.all([processor.evaluateAll(), second.evaluateAll()]);
    await second.close();
    const runs = await runsOf({ uid });
    expect(runs).toHaveLength(1);
    expect(await followupsOf(runs[0].run_id)).toHaveLength(ids.length - 1);
  });

  it('starts one run in place of one that cannot be continued, for events that arrive together', async () => {
    const { uid } = await automation({ triggers: [github('issue_commented')], concurrency: { policy: 'continue' } });
    const first = await runIdOf(commented());
    await fixture.requestAsAdmin(200, `POST /agent/runs/${first}/cancel`);
    const second = await startFiring(fixture.api.settings);
    await fixture.deliveries.buildMany(hook.id, 8, commented());
    await Promise.all([processor.evaluateAll(), second.evaluateAll()]);
    await second.close();
    const [newest, ...others] = await runsOf({ uid });
    expect(others).toEqual([expect.objectContaining({ run_id: first })]);
    expect(await followupsOf(newest.run_id)).toHaveLength(7);
  });
});

describe('the policy skip', () => {
  it('starts no run while one for the same key is active', async () => {
    hook = await fixture.webhooks.webhook({ factoryUid: hook.factoryUid });
    const body = (ref: string) => ({ body: JSON.stringify({ ref, n: Math.random() }) });
    const { uid } = await automation({
      triggers: [webhookTrigger(hook.uid)],
      concurrency: { policy: 'skip', key: 'deploy {{ payload.ref }}' },
    });
    const first = await runIdOf(body('main'));
    expect(await deliver(body('main'))).toEqual([
      {
        automation_uid: uid,
        matched: true,
        reason: expect.stringContaining(`The run ${first} for the same key is active`),
      },
    ]);
    expect(await runIdOf(body('other'))).not.toBe(first);
    await fixture.requestAsAdmin(200, `POST /agent/runs/${first}/cancel`);
    expect(await runIdOf(body('main'))).not.toBe(first);
  });

  it('of one automation does not prevent the run of another one for the same issue', async () => {
    for (const name of ['triage', 'fix'])
      await automation({ name, triggers: [github('issue_opened')], concurrency: { policy: 'skip' } });
    const started = await deliver(opened());
    expect(new Set(started.map(({ run_id: runId }: { run_id?: string }) => runId)).size).toBe(2);
    expect(await deliver(opened())).toEqual([
      expect.objectContaining({ reason: expect.stringContaining('is active') }),
      expect.objectContaining({ reason: expect.stringContaining('is active') }),
    ]);
  });
});

describe('the policy supersede', () => {
  it('cancels the run for the same key, and starts another one', async () => {
    await automation({ triggers: [github('issue_opened')], concurrency: { policy: 'supersede' } });
    const first = await runIdOf(opened(1));
    const other = await runIdOf(opened(2));
    const second = await runIdOf(opened(1));
    expect(await stateOf(first)).toBe('CANCELLED');
    expect((await fixture.getRun(first, fixture.admin)).status_message.message).toContain(second);
    expect([await stateOf(second), await stateOf(other)]).toEqual(['QUEUED', 'QUEUED']);
  });

  it('does not cancel the run for a newer event', async () => {
    await automation({ triggers: [github('issue_opened')], concurrency: { policy: 'supersede' } });
    const newer = await runIdOf(opened());
    const receivedAt = new Date(Date.now() - 60_000);
    expect(await deliver({ ...opened(), receivedAt })).toEqual([
      expect.objectContaining({ reason: expect.stringContaining(`The run ${newer} is for a newer event`) }),
    ]);
    expect(await stateOf(newer)).toBe('QUEUED');
  });

  it('is found by an automation that continues the run for the issue', async () => {
    await automation({ name: 'fix', triggers: [github('issue_opened')], concurrency: { policy: 'supersede' } });
    await automation({ name: 'reply', triggers: [github('issue_commented')], concurrency: { policy: 'continue' } });
    const runId = await runIdOf(opened());
    expect(await deliver(commented())).toMatchObject([{ run_id: runId }]);
  });
});

describe('the concurrency of an automation', () => {
  it('is returned, replaced and removed', async () => {
    const concurrency = { policy: 'continue', key: 'pr {{ payload.number }}', max_followups: 5 };
    const { uid } = await automation({ triggers: [github('check_failed')], concurrency });
    const path = `${automationsOf(hook.factoryUid)}/${uid}`;
    const stored = await fixture.requestAsAdmin(200, `GET ${path}`);
    expect(stored.concurrency).toEqual(concurrency);
    expect((await fixture.requestAsAdmin(200, `PUT ${path}`, stored)).concurrency).toEqual(concurrency);
    expect(await fixture.requestAsAdmin(200, `PUT ${path}`, { ...stored, concurrency: null })).not.toHaveProperty(
      'concurrency',
    );
  });

  it.each([
    [{ policy: 'wait' }, '/concurrency/policy'],
    [{ policy: 'skip', key: ' ' }, '/concurrency/key'],
    [{ policy: 'skip', key: '{{ payload.' }, '/concurrency/key'],
    [{ policy: 'skip', max_followups: 3 }, '/concurrency/max_followups'],
    [{ policy: 'continue', max_followups: 0 }, '/concurrency/max_followups'],
  ])('%j is rejected', async (concurrency, pointer) => {
    const body = await fixture.automationBody({ triggers: [github('issue_opened')], concurrency }, hook.factoryUid);
    const { errors } = await fixture.requestAsAdmin(400, `POST ${automationsOf(hook.factoryUid)}`, body);
    expect(errors).toEqual([{ pointer, detail: expect.any(String) }]);
  });

  it('continue is rejected without an event of GitHub or GitLab', async () => {
    const body = await fixture.automationBody({ concurrency: { policy: 'continue' } }, hook.factoryUid);
    const { errors } = await fixture.requestAsAdmin(400, `POST ${automationsOf(hook.factoryUid)}`, body);
    expect(errors).toEqual([{ pointer: '/concurrency/policy', detail: expect.stringContaining('github') }]);
  });

  it('is part of definition files', async () => {
    const factory = await fixture.createFactory();
    const files = {
      'factory.yaml': 'schemaVersion: v1alpha1\nname: with concurrency\n',
      'automations/reply/automation.md':
        '---\nconcurrency:\n  policy: continue\n  maxFollowups: 3\ntriggers:\n  - provider: github\n    event: issue_commented\n---\nAnswer.\n',
    };
    await fixture.applyDefinition(factory, files);
    const { automations } = await fixture.requestAsAdmin(200, `GET ${automationsOf(factory)}`);
    expect(automations[0].concurrency).toEqual({ policy: 'continue', max_followups: 3 });
    const { plan } = await fixture.planDefinition(factory, files);
    expect(plan.map(({ action }: { action: string }) => action)).toEqual(['unchanged', 'unchanged']);
    const wrong = {
      ...files,
      'automations/reply/automation.md': files['automations/reply/automation.md'].replace('3', '0'),
    };
    const { diagnostics } = await fixture.applyDefinition(factory, wrong, 400);
    expect(diagnostics).toMatchObject([{ line: 4, message: 'concurrency.maxFollowups must be at least 1.' }]);
  });
});
