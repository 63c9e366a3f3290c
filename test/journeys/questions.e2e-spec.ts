import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answersIn, type Answer, Installation, type Program, runnersOf, until } from '../support/installation.js';

let installation: Installation;
let server: Program;

beforeAll(async () => {
  installation = await Installation.create({ MAX_IDLE_SESSIONS: '0', APPROVAL_TIMEOUT: '2s' });
  server = await installation.up();
});

afterAll(async () => {
  await server.stopCleanly('SIGINT');
  installation.remove();
});

const asks = (input: object): string => `\`\`\`tool name=ask_person\n${JSON.stringify(input)}\n\`\`\``;
const DATABASE = { question: 'Which database?', options: ['PostgreSQL', 'SQLite'] };

/** A run whose agent asks, as soon as it waits for the answer. */
async function ask(input: object, config: object = {}): Promise<{ runId: string; id: string }> {
  const runId = await installation.createRun(asks(input), { config: { approval_timeout_minutes: 30, ...config } });
  await installation.waitFor(runId, ['BLOCKED']);
  return { runId, id: (await approvals(runId))[0]?.approval_id ?? '' };
}
// eslint-disable-next-line @typescript-eslint/no-explicit-any
const approvals = async (runId: string): Promise<any[]> =>
  (await installation.call('GET', `/agent/runs/${runId}/approvals`)).body.approvals;
const decide = (runId: string, id: string, body: object): Promise<Answer> =>
  installation.call('POST', `/agent/runs/${runId}/approvals/${id}`, body);
const answer = (runId: string, id: string, fields: object): Promise<Answer> =>
  decide(runId, id, { decision: 'answer', ...fields });
const conversation = async (runId: string) =>
  (await installation.call('GET', `/agent/runs/${runId}/conversation`)).body;
async function payloads(runId: string, type: string): Promise<object[]> {
  const { body } = await installation.call('GET', `/agent/runs/${runId}/timeline`);
  const events = body.events as { event_type: string; payload: object }[];
  return events.filter(({ event_type: known }) => known === type).map(({ payload }) => payload);
}

describe('question of an agent to a person', { timeout: 90_000 }, () => {
  it('blocks the run whatever its policy, and its answer by an option continues it', async () => {
    const question = { ...DATABASE, allow_text: false };
    const { runId, id } = await ask(question, { permission_policy: 'deny' });
    const { body: inbox } = await installation.call('GET', '/agent/approvals?state=pending');
    expect(inbox.approvals).toMatchObject([
      {
        approval_id: id,
        run_id: runId,
        kind: 'question',
        title: 'Which database?',
        options: [
          { option_id: '1', name: 'PostgreSQL' },
          { option_id: '2', name: 'SQLite' },
        ],
        allow_text: false,
        state: 'pending',
      },
    ]);
    const wrong: [object, string][] = [
      [{ decision: 'answer' }, '/option_id'],
      [{ decision: 'answer', option_id: '3' }, '/option_id'],
      [{ decision: 'answer', option_id: '1', text: 'Or MySQL?' }, '/text'],
      [{ decision: 'answer', text: ' ' }, '/text'],
      [{ decision: 'answer', text: 'x'.repeat(10_001) }, '/text'],
      [{ decision: 'answer', option_id: '1', note: 'Now.' }, '/note'],
      [{ decision: 'allow' }, '/decision'],
      [{ decision: 'deny', option_id: '1' }, '/option_id'],
    ];
    for (const [body, pointer] of wrong)
      expect(await decide(runId, id, body), JSON.stringify(body)).toMatchObject({
        status: 400,
        body: { errors: [{ pointer }] },
      });

    const both = await Promise.all(['1', '2'].map((option) => answer(runId, id, { option_id: option })));
    const [won, lost] = both.sort((one, other) => one.status - other.status);
    expect(won).toMatchObject({ status: 200, body: { state: 'answered', decided_via: 'user' } });
    const name = won?.body.decided_by.display_name as string;
    expect(name).toMatch(/./);
    expect(lost).toMatchObject({
      status: 409,
      body: { detail: `The question was decided before: it is answered by ${name}.` },
    });
    await installation.waitFor(runId, ['SUCCEEDED']);
    const { option } = won?.body.answer as { option: string };
    expect(answersIn(await conversation(runId))).toContain(`${name} (user) has answered.\\nOption: ${option}`);
    expect(await payloads(runId, 'run_blocked')).toMatchObject([{ kind: 'question', title: 'Which database?' }]);
    expect(await payloads(runId, 'permission_decided')).toMatchObject([
      {
        approval_id: id,
        kind: 'question',
        decision: 'answer',
        by: 'user',
        answer: { option },
        principal: { type: 'user' },
      },
    ]);
    const text = JSON.stringify(await conversation(runId));
    for (const entry of ['permission_request', 'permission_decision']) expect(text).toContain(`"name":"${entry}"`);
  });

  it('is answered with a text from the command line, and a question without options accepts nothing else', async () => {
    const { runId, id } = await ask({ question: 'Which version?' });
    expect(await answer(runId, id, { option_id: '1' })).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/option_id' }] },
    });
    const headrace = (script: string): Promise<string> =>
      installation.shell(`export HEADRACE_TOKEN='${installation.connection.token}'\n${script}`, tmpdir());
    expect(await headrace('headrace approval list')).toMatch(new RegExp(`${id}.*Which version\\?`));
    expect(await headrace(`headrace approval answer ${id} --text 'Version 18.'`)).toBe('answered\n');
    await installation.waitFor(runId, ['SUCCEEDED']);
    expect(answersIn(await conversation(runId))).toContain('has answered.\\nText: Version 18.');
  });

  it('ends without an answer when it is denied, expires, or its run is cancelled', async () => {
    const denied = await ask(DATABASE);
    await decide(denied.runId, denied.id, { decision: 'deny', note: 'Decide yourself.' });
    await installation.waitFor(denied.runId, ['SUCCEEDED']);
    expect(answersIn(await conversation(denied.runId))).toContain('No answer: Decide yourself.');

    const expired = await installation.createRun(asks(DATABASE));
    await until(async () => (await approvals(expired))[0]?.decided_via === 'timeout', 20_000, 'the timeout');
    await installation.waitFor(expired, ['SUCCEEDED']);
    expect(answersIn(await conversation(expired))).toContain('No answer: Nobody answered in time.');

    const cancelled = await ask(DATABASE);
    expect((await installation.call('POST', `/agent/runs/${cancelled.runId}/cancel`)).status).toBe(200);
    expect((await answer(cancelled.runId, cancelled.id, { option_id: '1' })).status).toBe(409);
    await until(
      async () => (await approvals(cancelled.runId))[0].state === 'denied',
      20_000,
      'the end of the question',
    );
    expect(await approvals(cancelled.runId)).toMatchObject([{ decided_via: 'cancel' }]);
    expect((await installation.run(cancelled.runId)).state).toBe('CANCELLED');
  });

  it('ends with a runner that is killed, and is asked again when the run is retried', async () => {
    const lost = await ask(DATABASE);
    const runners = () => runnersOf(server.child.pid ?? 0);
    const kill = async (): Promise<void> => {
      // One of an earlier test may not have ended yet.
      await until(() => runners().length === 1, 20_000, 'one runner');
      process.kill(runners()[0]?.pid ?? 0, 'SIGKILL');
    };
    await kill();
    expect(await installation.waitFor(lost.runId, ['ERROR'])).toMatchObject({
      status_message: { error_code: 'infrastructure_timeout' },
    });
    expect(await approvals(lost.runId)).toMatchObject([{ state: 'denied', decided_via: 'cancel' }]);
    expect((await answer(lost.runId, lost.id, { option_id: '1' })).status).toBe(409);

    const { runId } = await ask(DATABASE, { on_worker_lost: 'retry' });
    await kill();
    const open = async () => (await approvals(runId)).filter(({ state }) => state === 'pending');
    await until(async () => (await approvals(runId)).length === 2 && (await open()).length === 1, 30_000, 'the second');
    const [second] = await open();
    expect((await answer(runId, second.approval_id, { option_id: '2' })).status).toBe(200);
    await installation.waitFor(runId, ['SUCCEEDED']);
    expect(answersIn(await conversation(runId))).toContain('Option: SQLite');
  });
});
