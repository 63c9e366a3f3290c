import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Installation, type Program, until } from '../support/installation.js';
import { shellBlocks } from '../support/recipe.js';
import { isLong } from '../support/long-tests.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
/** Each example starts more than ten processes one after the other, which takes long on a busy machine. */
const STEP_TIMEOUT_MS = 90_000;

interface Delivery {
  delivery_id: string;
  outcome: string | null;
  identity: string;
  payload?: unknown;
  automation_results?: { automation_uid: string; matched: boolean; run_id?: string; reason: string }[];
}

let installation: Installation;
let server: Program;
let directory: string;

beforeAll(async () => {
  installation = await Installation.create({ LEASE_TTL: '30s' });
  server = await installation.up();
  directory = mkdtempSync(join(tmpdir(), 'headrace-test-factory-'));
}, 90_000);
afterAll(async () => {
  await server.stopCleanly('SIGINT');
  installation.remove();
  rmSync(directory, { recursive: true, force: true });
});

/** Its commands work from the root of the checkout. */
const readmeOf = (example: string): string => readFileSync(join(ROOT, 'examples', example, 'README.md'), 'utf8');

/** Runs the commands of the README including the deliveries. Returns the UIDs of the factory and the webhook, and the output. */
async function runReadme(example: string, alias: string): Promise<{ factory: string; uid: string; printed: string }> {
  const [create = '', webhooks = '', automations = '', deliveries = ''] = shellBlocks(readmeOf(example));
  const script = [
    `ln -s '${join(ROOT, 'examples')}' examples`,
    create.replace('team=…', `team=${installation.connection.team_uid}`),
    webhooks,
    automations,
    // The command fails for a rejected delivery, which the README expects.
    deliveries.replaceAll(/^(headrace webhook send .*)$/gm, '$1 || true'),
    'echo "uid=$uid"',
  ].join('\n');
  const place = mkdtempSync(join(directory, `${example}-`));
  const printed = await installation.shell(script, place);
  const [, uid = ''] = /^uid=(\w{22})$/m.exec(printed) ?? [];
  const { body } = await installation.call('GET', `/factory?query=${alias}`);
  return { factory: body.factories[0].uid as string, uid, printed };
}

/** Oldest first, once all of them are evaluated. */
async function logOf(factory: string, uid: string, count: number): Promise<Delivery[]> {
  const path = `/factories/${factory}/webhooks/${uid}/deliveries`;
  const isDone = ({ outcome, automation_results: results }: Delivery) =>
    outcome !== 'Accepted' || results !== undefined;
  const log = await until(
    async () => {
      const { deliveries } = (await installation.call('GET', path)).body as { deliveries: Delivery[] };
      return deliveries.length === count && deliveries.every(isDone) && deliveries;
    },
    STEP_TIMEOUT_MS,
    `${count} evaluated deliveries`,
  );
  return log.reverse();
}

/** The test of a trigger with a stored delivery must return the result that the log contains. */
async function expectSameTestResults(factory: string, log: readonly Delivery[]): Promise<void> {
  for (const { delivery_id: id, automation_results: results = [] } of log)
    for (const { automation_uid: automation, matched, reason } of results) {
      const path = `/factories/${factory}/automations/${automation}/triggers/0/test`;
      const { status, body } = await installation.call('POST', path, { delivery_id: id });
      expect(status).toBe(200);
      expect(body).toMatchObject({
        would_trigger: matched,
        verdict: matched ? 'Would trigger' : 'Would not trigger',
      });
      expect((body.checks as { reason: string }[]).at(-1)?.reason).toBe(reason);
    }
}

const runsOf = async (factory: string) =>
  (await installation.call('GET', `/agent/runs?factory_uid=${factory}`)).body.runs as {
    run_id: string;
    prompt: string;
  }[];

/** The attachment in the workspace of the agent must contain the exact bytes that were sent. */
async function expectExactBytes(factory: string, uid: string, payload: Buffer): Promise<void> {
  const prompt = '```sh\nsha256sum < "$HEADRACE_ATTACHMENTS_DIR/event-payload.json"\n```';
  const triggers = [{ provider: 'webhook', event: 'received', filter: { webhook_ids: [uid] } }];
  const made = await installation.call('POST', `/factories/${factory}/automations`, {
    ...{ name: 'digest', enabled: true, prompt, triggers },
  });
  expect(made.status).toBe(201);
  const log = `/factories/${factory}/webhooks/${uid}/deliveries`;
  const [{ delivery_id: id }] = (await installation.call('GET', `${log}?outcome=Accepted`)).body.deliveries;
  const again = (await installation.call('POST', `${log}/${id}/redeliver`)).body.delivery_id as string;
  const [result] = await until(
    async () =>
      (await installation.call('GET', `${log}/${again}`)).body.automation_results?.filter(
        ({ automation_uid: automation }: { automation_uid: string }) => automation === made.body.uid,
      ) as { run_id: string }[] | undefined,
    STEP_TIMEOUT_MS,
    'the evaluation of the delivery that was sent again',
  );
  await installation.waitFor(result?.run_id ?? '', ENDED, STEP_TIMEOUT_MS);
  const conversation = await installation.call('GET', `/agent/runs/${result?.run_id}/conversation`);
  expect(JSON.stringify(conversation.body)).toContain(createHash('sha256').update(payload).digest('hex'));
}

const payloadOf = (example: string, name: string): Buffer =>
  readFileSync(join(ROOT, 'examples', example, 'payloads', name));

describe('example factories with the commands of their README', { timeout: 300_000 }, () => {
  it.runIf(isLong)('starts one run for the failed build of a watched branch in the ci-failures example', async () => {
    const { factory, uid } = await runReadme('ci-failures', 'ci-failures');
    const log = await logOf(factory, uid, 5);
    expect(log.map(({ outcome }) => outcome)).toEqual([
      ...['Accepted', 'Duplicate', 'Accepted', 'Accepted', 'Rejected (invalid JSON)'],
    ]);
    const results = log.flatMap(({ automation_results: ofDelivery = [] }) => ofDelivery);
    expect(results.map(({ matched }) => matched)).toEqual([true, false, false]);
    expect(results[1]?.reason).toContain('try-something');
    const [run, ...others] = await runsOf(factory);
    expect(others).toEqual([]);
    expect(run?.run_id).toBe(results[0]?.run_id);
    const ended = await installation.waitFor(run?.run_id ?? '', ENDED, STEP_TIMEOUT_MS);
    expect(ended).toMatchObject({
      state: 'SUCCEEDED',
      source: 'CUSTOM_WEBHOOK',
      executor: { type: 'service_account' },
      artifacts: [{ artifact_type: 'FILE' }],
    });
    expect(ended.prompt).toContain('Build [payload value 1] of [payload value 2] has failed.');
    const conversation = await installation.call('GET', `/agent/runs/${run?.run_id}/conversation`);
    expect(JSON.stringify(conversation.body)).toContain('# Failed tests: 2');
    await expectSameTestResults(factory, log);
    await expectExactBytes(factory, uid, payloadOf('ci-failures', 'passed-on-main.json'));
  });

  it('starts the triage agent for a signed delivery of production and for a dispatched run in the error-tracker example', async () => {
    const { factory, uid } = await runReadme('error-tracker', 'error-triage');
    const log = await logOf(factory, uid, 3);
    expect(log.map(({ outcome }) => outcome)).toEqual(['Accepted', 'Accepted', 'Accepted']);
    const results = log.flatMap(({ automation_results: ofDelivery = [] }) => ofDelivery);
    expect(results.map(({ matched }) => matched)).toEqual([true, false, false]);
    const skill = {
      name: 'triage-errors',
      full_path: `headrace/${factory}:skills/triage-errors/SKILL.md`,
    };
    const run = await installation.waitFor(results[0]?.run_id ?? '', ENDED, STEP_TIMEOUT_MS);
    expect(run.agent_skill).toMatchObject(skill);
    expect(run.agent_config.base_prompt).toMatch(/^You are the foreman[^]*Frames below `src\/` belong to this project/);
    const conversation = await installation.call('GET', `/agent/runs/${results[0]?.run_id}/conversation`);
    expect(JSON.stringify(conversation.body)).toContain('src/cart/total.js');
    await expectSameTestResults(factory, log);
    await expectExactBytes(factory, uid, payloadOf('error-tracker', 'error-in-staging.json'));

    const dispatched = await installation.call('POST', `/factory/${factory}/runs`, {
      prompt: '```sh\ntrue\n```',
      ticket_ref: 'tracker:4508',
    });
    expect(dispatched).toMatchObject({ status: 200, body: { factory_uid: factory, ticket_ref: 'tracker:4508' } });
    expect(await installation.waitFor(dispatched.body.run_id as string, ENDED, STEP_TIMEOUT_MS)).toMatchObject({
      state: 'SUCCEEDED',
      metadata: { ticket_source: 'tracker', ticket_id: '4508', factory_uid: factory },
      agent_skill: skill,
    });
  });
});
