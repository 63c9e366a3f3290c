import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/installation.js';
import { SlackApiDouble, type SlackMessage } from '../support/slack-api.js';
import { CHANNEL, mention, message, slackSignature } from '../support/slack-deliveries.js';
import { CRASH_SETUPS, type CrashSetup, type Victim } from './crash-setups.js';
import { isLong } from '../support/long-tests.js';

/** When Slack has done what the request asks for: the killed process does not know. */
type Step = readonly [name: string, method: string, text: RegExp];

const RECEIPT: Step = ['the receipt', 'reactions.add', /"eyes"/];
const MESSAGE: Step = ['the message of the run', 'chat.postMessage', /The run /];
const COMMENT: Step = ['the message that the agent has asked for', 'chat.postMessage', /I have read it/];
const EDIT: Step = ['the edit of the message', 'chat.update', /The run /];
const RESULT: Step = ['the edit with the result', 'chat.update', /\*has succeeded\*/];
const REACTION: Step = ['the reaction to the end', 'reactions.add', /"white_check_mark"/];
const STEPS = [RECEIPT, MESSAGE, COMMENT, EDIT, RESULT, REACTION];

const each = (steps: readonly Step[], victims: readonly Victim[]) =>
  steps.flatMap((step) => victims.map((victim) => [step, victim] as const));
const CASES: readonly (readonly [setup: keyof typeof CRASH_SETUPS, cases: ReturnType<typeof each>])[] = [
  ['one server', each(STEPS, ['server', 'postgres'])],
  ['separate processes', [...each(STEPS, ['processor', 'api']), ...each([COMMENT], ['runner', 'agent', 'worker'])]],
];

const TOKEN = 'xoxb-token-of-the-app';
const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR'];
const TURN_MS = 60_000;
const FIRST_SECOND = 1_515_449_000;

describe.runIf(isLong).each(CASES)('a run in a thread of Slack, with %s,', { timeout: 180_000 }, (name, cases) => {
  let slack: SlackApiDouble;
  let setup: CrashSetup;
  let ingress: string;
  const secret = randomBytes(20).toString('hex');

  beforeAll(async () => {
    slack = await SlackApiDouble.start(TOKEN, [CHANNEL]);
    setup = await CRASH_SETUPS[name]({ SLACK_API_URL: slack.url });
    const { installation } = setup;
    expect((await installation.call('PUT', '/secrets/slack-bot', { value: TOKEN })).status).toBeLessThan(300);
    const factory = `/factories/${installation.connection.factory_uid}`;
    const signature = { auth_mode: 'signature', signature_scheme: 'slack', secret };
    const { body: webhook } = await installation.call('POST', `${factory}/webhooks`, { name: 'slack', ...signature });
    ingress = webhook.ingress_url as string;
    const prompts = { mention: '```tool name=comment_on_source\n{"text":"I have read it."}\n```', reply: 'Thanks.' };
    for (const [event, prompt] of Object.entries(prompts)) {
      const answer = await installation.call('POST', `${factory}/automations`, {
        enabled: true,
        name: event,
        prompt,
        agent_config: setup.config,
        triggers: [{ provider: 'slack', event }],
        concurrency: { policy: 'continue' },
        answers: { secret_name: 'slack-bot' },
      });
      expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 201 });
    }
  });
  afterAll(async () => {
    await setup.close();
    await slack.stop();
  });

  async function deliver(payload: object): Promise<void> {
    const body = JSON.stringify(payload);
    const headers = { 'content-type': 'application/json', ...slackSignature(body, secret) };
    const response = await fetch(ingress, { method: 'POST', headers, body });
    expect([response.status, await response.text()]).toEqual([202, expect.stringContaining('delivery_id')]);
  }
  const runsIn = async (thread: string): Promise<string[]> => {
    const answer = await setup.installation.call('GET', '/agent/runs?limit=100').catch(() => null);
    const runs =
      answer?.status === 200 ? (answer.body.runs as { run_id: string; metadata?: { target?: string } }[]) : [];
    return runs.flatMap(({ run_id: id, metadata }) => (metadata?.target === `${CHANNEL}/${thread}` ? [id] : []));
  };
  /** In the thread, in order. */
  const messages = (thread: string, text: string): SlackMessage[] =>
    slack.messages.filter(({ thread_ts: ts, blocks }) => ts === thread && JSON.stringify(blocks).includes(text));
  const showsEnd = (thread: string, state: string): boolean =>
    messages(thread, state === 'SUCCEEDED' ? '*has succeeded*' : '*has failed').length === 1;

  it.each(cases.map(([step, victim], index) => [step[0], victim, step, FIRST_SECOND + index] as const))(
    'after %s survives that kill -9 ends the %s',
    async (_step, victim, [, method, text], second) => {
      const [thread, reply] = [`${second}.000100`, `${second}.000200`];
      let isKilled = false;
      const call = (): void => {
        isKilled = true;
        setup.kill(victim);
      };
      slack.interrupt = { method, text, call };
      await deliver(mention({ ts: thread, event_ts: thread }));
      await until(() => isKilled, TURN_MS, 'the step');
      await setup.restart(victim);
      const runId = await until(async () => (await runsIn(thread))[0], TURN_MS, 'the run');
      const first = await setup.installation.waitFor(runId, ENDED, TURN_MS);
      if (first.state === 'ERROR') expect(first.status_message.error_code).toBe('infrastructure_timeout');
      await until(() => showsEnd(thread, first.state), TURN_MS, 'the end in the message');
      const asked = messages(thread, 'I have read it').length;
      // A run that was lost may not have come to it.
      expect(asked).toBe(first.state === 'SUCCEEDED' || text === COMMENT[2] ? 1 : Math.min(asked, 1));

      // A person replies: the same run continues, and its message says how that has ended. A run that was lost before its
      // agent started has no conversation: another one follows it, and has its message.
      const hasConversation = first.state !== 'ERROR' || (first.started_at as string | null) !== null;
      await deliver(message({ ts: reply, thread_ts: thread, event_ts: reply, text: 'And now?' }));
      const next = await until(
        async () => {
          if (!hasConversation) return (await runsIn(thread)).find((id) => id !== runId);
          return (await setup.installation.run(runId)).updated_at === first.updated_at ? null : runId;
        },
        TURN_MS,
        'the follow-up',
      );
      const { state } = await setup.installation.waitFor(next, ENDED, TURN_MS);
      const emoji = state === 'SUCCEEDED' ? 'white_check_mark' : 'x';
      await until(() => slack.reactions.includes(`${reply} ${emoji}`), TURN_MS, 'the reaction to the reply');
      await until(() => showsEnd(thread, state), TURN_MS, 'the second end in the message');
      const runs = hasConversation ? [runId] : [next, runId];
      expect(await runsIn(thread)).toEqual(runs);
      expect(messages(thread, 'The run ')).toHaveLength(runs.length);
      expect(messages(thread, 'I have read it')).toHaveLength(asked);
      expect(slack.reactions.filter((one) => one === `${thread} eyes`)).toHaveLength(1);
      expect(slack.violations).toEqual([]);
    },
  );
});
