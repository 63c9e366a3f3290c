import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NO_BROWSER, startBrowser } from '../support/browser.js';
import { Installation, processes, type Program, until } from '../support/installation.js';
import { createScriptedHarness } from '../support/scripted-harness.js';

const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
const PUSH = { ask: { title: 'Push', kind: 'execute', name: 'Bash', input: { command: 'git push' } } };
const config = { harness: { type: 'scripted' } };

let installation: Installation;
let server: Program;
let directory: string;
let agent: string;

beforeAll(async () => {
  const harness = createScriptedHarness();
  ({ directory, agent } = harness);
  installation = await Installation.create({
    HARNESSES_FILE: harness.file,
    MAX_IDLE_SESSIONS: '0',
    APPROVAL_TIMEOUT: '2s',
    LEASE_TTL: '6s',
  });
  server = await installation.up();
});

afterAll(async () => {
  await server.stopCleanly('SIGINT');
  installation.remove();
  rmSync(directory, { recursive: true, force: true });
});

const create = (steps: readonly object[], fields: object = {}, extra: object = {}): Promise<string> =>
  installation.createRun(JSON.stringify(steps), { config: { ...config, ...extra }, ...fields });
async function agentTexts(runId: string): Promise<string[]> {
  const { body } = await installation.call('GET', `/agent/runs/${runId}/conversation`);
  const steps = body.steps as { messages: { role: string; content: { type: string; text?: string }[] }[] }[];
  return steps
    .flatMap(({ messages }) => messages.filter(({ role }) => role === 'assistant'))
    .flatMap(({ content }) => content.flatMap(({ type, text }) => (type === 'text' ? [text ?? ''] : [])))
    .join('')
    .trim()
    .split('\n');
}
async function decisions(runId: string): Promise<object[]> {
  const { body } = await installation.call('GET', `/agent/runs/${runId}/timeline`);
  const events = body.events as { event_type: string; payload: object }[];
  return events.filter(({ event_type: type }) => type === 'permission_decided').map(({ payload }) => payload);
}
const headrace = (script: string): Promise<string> =>
  installation.shell(`export HEADRACE_TOKEN='${installation.connection.token}'\n${script}`, directory);

describe('permission request of an agent', { timeout: 90_000 }, () => {
  it('lists a pending permission request, and applies an answer given with --always to later requests and executions of the run', async () => {
    const runId = await create([PUSH, PUSH], { interactive: true }, { approval_timeout_minutes: 30 });
    await installation.waitFor(runId, ['BLOCKED']);
    const { body } = await installation.call('GET', '/agent/approvals?state=pending');
    expect(body.approvals).toMatchObject([
      { run_id: runId, title: 'Push', subject: { type: 'command', value: 'git push', tool: 'Bash' } },
    ]);
    const [{ approval_id: id }] = body.approvals;
    expect(await headrace('headrace approval list')).toContain(id);
    expect(await headrace(`headrace approval allow ${id} --always --note 'Go.'`)).toBe('allowed\n');
    await installation.waitFor(runId, ['SUCCEEDED']);
    expect(await agentTexts(runId)).toEqual(['Push | allow_always | Go.', 'Push | allow_once']);
    expect(await decisions(runId)).toMatchObject([
      { approval_id: id, decision: 'allow', always: true, by: 'user', principal: { type: 'user' }, note: 'Go.' },
      { decision: 'allow', by: 'rule', rule_id: id, title: 'Push' },
    ]);
    await until(
      async () => (await installation.run(runId)).is_sandbox_running === false,
      20_000,
      'the end of the session',
    );
    const followUp = await installation.call('POST', `/agent/runs/${runId}/followups`, {
      message: JSON.stringify([PUSH]),
    });
    expect(followUp.body.outcome).toBe('handoff_execution');
    await until(async () => (await decisions(runId)).length === 3, 30_000, 'the third decision');
    await installation.waitFor(runId, ['SUCCEEDED']);
    expect((await decisions(runId))[2]).toMatchObject({ decision: 'allow', by: 'rule', rule_id: id });
  });

  it('denies a permission request with a note that the agent receives', async () => {
    const runId = await create([PUSH], { interactive: true }, { approval_timeout_minutes: 30 });
    await installation.waitFor(runId, ['BLOCKED']);
    const { body } = await installation.call('GET', `/agent/runs/${runId}/approvals`);
    await headrace(`headrace approval deny ${body.approvals[0].approval_id} --note 'Not on Fridays.'`);
    await installation.waitFor(runId, ['SUCCEEDED']);
    expect(await agentTexts(runId)).toEqual(['Push | reject_once | Not on Fridays.']);
  });

  it('denies a permission request that is not answered within APPROVAL_TIMEOUT', async () => {
    const runId = await create([PUSH], { interactive: true });
    await installation.waitFor(runId, ['BLOCKED']);
    await installation.waitFor(runId, ['SUCCEEDED']);
    expect(await agentTexts(runId)).toEqual(['Push | reject_once | Nobody answered in time.']);
    expect(await decisions(runId)).toMatchObject([{ decision: 'deny', by: 'timeout' }]);
  });

  it('decides permission requests by the allow list and records the decisions in the timeline', async () => {
    const status = { ask: { ...PUSH.ask, title: 'Status', input: { command: 'git status -s' } } };
    const runId = await create(
      [PUSH, status],
      {},
      {
        permission_policy: 'allow_list',
        permission_allow_list: ['command:git status'],
      },
    );
    await installation.waitFor(runId, ['SUCCEEDED']);
    expect(await agentTexts(runId)).toEqual(['Push | reject_once', 'Status | allow_once']);
    expect(await decisions(runId)).toMatchObject([
      { decision: 'deny', by: 'policy', title: 'Push' },
      { decision: 'allow', by: 'policy', title: 'Status' },
    ]);
  });
});

describe('budget of a run', { timeout: 90_000 }, () => {
  it('fails a run that exceeds max_cost_usd during a turn, stops its agent and rejects a follow-up with 403', async () => {
    const runId = await create([{ cost: 0.25 }, { cost: 1.25 }, { wait: true }], {}, { max_cost_usd: 1 });
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({
      state: 'FAILED',
      status_message: {
        message: 'The run reached its limit max_cost_usd: its agent used 1.25 of 1 US dollars.',
        error_code: 'budget_exceeded',
      },
      request_usage: { inference_cost_usd: 1.25 },
    });
    await until(() => !processes().some(({ argv }) => argv.includes(agent)), 20_000, 'the end of the agent');
    await until(
      async () => (await installation.run(runId)).is_sandbox_running === false,
      20_000,
      'the end of the execution',
    );
    const { body: timeline } = await installation.call('GET', `/agent/runs/${runId}/timeline`);
    const types = (timeline.events as { event_type: string }[]).map(({ event_type: type }) => type);
    expect(types.filter((type) => type === 'run_failed')).toHaveLength(1);
    expect(types.at(-1)).toBe('sandbox_shutdown');
    const rejected = await installation.call('POST', `/agent/runs/${runId}/followups`, { message: 'Continue.' });
    expect(rejected).toMatchObject({ status: 403, body: { error_code: 'budget_exceeded' } });
  });

  it('fails a run that has exceeded max_tokens at the end of a turn', async () => {
    const runId = await create([{ tokens: 5000 }], {}, { max_tokens: 1000 });
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({
      state: 'FAILED',
      status_message: { message: expect.stringContaining('max_tokens'), error_code: 'budget_exceeded' },
    });
  });
});

describe.skipIf(NO_BROWSER !== null)(`run page ${NO_BROWSER ?? ''}`.trim(), { timeout: 90_000 }, () => {
  it('answers a permission request, shows the decision as text, sends a follow-up and cancels the run', async () => {
    const runId = await create([PUSH], { interactive: true }, { approval_timeout_minutes: 30 });
    await installation.waitFor(runId, ['BLOCKED']);
    const browser = await startBrowser();
    try {
      const page = await browser.newPage();
      const pageErrors: string[] = [];
      page.on('pageerror', (error) => pageErrors.push(error.message));
      const { base_url: baseUrl, token } = installation.connection;
      // As `session_link` names it.
      await page.goto(`${new URL(baseUrl).origin}/runs/${runId}`);
      await page.getByLabel('Token').fill(token);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.waitForURL(`**/console/runs/${runId}`);
      await page.getByRole('button', { name: 'Allow', exact: true }).click();
      const state = (name: string) => page.locator(`.head [data-state=${name}]`);
      await state('SUCCEEDED').waitFor();
      await page.getByText('Permission granted, by user').waitFor();
      // The run can end before the page has read the requests again.
      await page.getByRole('region', { name: 'Permission request' }).waitFor({ state: 'detached' });
      expect(await page.locator('main pre', { hasText: 'approval_id' }).count()).toBe(0);

      await page.getByLabel('Message to the agent').fill(JSON.stringify([{ wait: true }]));
      await page.getByRole('button', { name: 'Send' }).click();
      await state('INPROGRESS').waitFor();
      await page.getByRole('button', { name: 'Cancel', exact: true }).click();
      await state('CANCELLED').waitFor();
      expect(pageErrors).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
