import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type { Assignment, PermissionDecided, PermissionRequested, Usage } from '#execution/runner-protocol';
import { RunnerProcess } from './runner-process.js';

const AGENT = fileURLToPath(new URL('../support/scripted-agent.mjs', import.meta.url));
const PUSH = { title: 'Push', kind: 'execute', name: 'Bash', input: { command: 'git push' } };
const STATUS = { ...PUSH, title: 'Status', input: { command: 'git status' } };
const EDIT = { title: 'Change a.txt', kind: 'edit', name: 'Edit', input: { path: 'a.txt' } };
const PUSH_SUBJECT = { type: 'command', value: 'git push', tool: 'Bash' } as const;

let runner: RunnerProcess | null = null;
afterEach(async () => {
  await runner?.dispose();
  runner = null;
});

const ask = (...questions: object[]) => questions.map((question) => ({ ask: question }));

async function start(steps: readonly object[], assignment: Partial<Assignment>): Promise<RunnerProcess['plane']> {
  runner = await RunnerProcess.start({
    assignment: {
      prompt: JSON.stringify(steps),
      interactive: true,
      permission_policy: 'ask',
      harness: { type: 'scripted' },
      ...assignment,
    },
    handover: {
      harnesses: { scripted: { command: process.execPath, args: [AGENT], install_hint: 'comes with the tests' } },
    },
  });
  return runner.plane;
}
/** The id of the question that is asked next. */
async function asked(plane: RunnerProcess['plane'], count: number): Promise<string> {
  await plane.untilEvent('permission_requested', count);
  return plane.data<PermissionRequested>('permission_requested').at(-1)?.approval_id ?? '';
}

describe('a decision with allow_always', () => {
  it('selects the option of the agent, and decides later requests equally', async () => {
    const plane = await start(ask(PUSH, PUSH, STATUS, PUSH), {});
    const first = await asked(plane, 1);
    plane.decide(first, 'allow', undefined, true);
    plane.decide(await asked(plane, 3), 'deny', 'Not needed.');
    await plane.untilEvent('turn_ended');
    expect(plane.said.trim().split('\n')).toEqual([
      'Push | allow_always',
      'Push | allow_once',
      'Status | reject_once | Not needed.',
      'Push | allow_once',
    ]);
    expect(
      plane.data<PermissionRequested>('permission_requested').map(({ ask: isAsked, subject }) => [isAsked, subject]),
    ).toEqual([
      [true, PUSH_SUBJECT],
      [false, PUSH_SUBJECT],
      [true, { ...PUSH_SUBJECT, value: 'git status' }],
      [false, PUSH_SUBJECT],
    ]);
    expect(plane.data<PermissionDecided>('permission_decided')).toEqual([
      expect.objectContaining({ decision: 'allow', by: 'rule', rule_id: first, title: 'Push' }),
      expect.objectContaining({ decision: 'allow', by: 'rule', rule_id: first, title: 'Push' }),
    ]);
  });

  it('of an earlier execution applies', async () => {
    const rules = [{ approval_id: 'earlier', subject: PUSH_SUBJECT }];
    const plane = await start(ask(PUSH), { permission_rules: rules });
    await plane.untilEvent('turn_ended');
    expect(plane.said).toBe('Push | allow_once\n');
    expect(plane.data('permission_decided')).toMatchObject([{ decision: 'allow', by: 'rule', rule_id: 'earlier' }]);
  });

  it('applies once when the agent has no such option', async () => {
    const plane = await start([{ ask: PUSH, options: ['allow_once', 'reject_once'] }], {});
    plane.decide(await asked(plane, 1), 'allow', undefined, true);
    await plane.untilEvent('turn_ended');
    expect(plane.said).toBe('Push | allow_once\n');
  });

  it('does not override a policy that denies', async () => {
    const rules = [{ approval_id: 'earlier', subject: PUSH_SUBJECT }];
    const plane = await start(ask(PUSH), { permission_policy: 'deny', permission_rules: rules });
    await plane.untilEvent('turn_ended');
    expect(plane.said).toBe('Push | reject_once\n');
  });
});

describe('the policy of a run', () => {
  const questions = ask(PUSH, STATUS, EDIT);
  const person = { title: 'Ask', kind: 'other', name: 'mcp__headrace__ask_person', input: {} };
  it.each<[string, Partial<Assignment>, string[]]>([
    ['allow', { permission_policy: 'allow' }, ['allow', 'allow', 'allow']],
    ['deny', { permission_policy: 'deny' }, ['deny', 'deny', 'deny']],
    [
      'allow_list, by the start of a command',
      { permission_allow_list: ['command:git status'] },
      ['deny', 'allow', 'deny'],
    ],
    ['allow_list, by a tool’s name', { permission_allow_list: ['Edit'] }, ['deny', 'deny', 'allow']],
    ['allow_list, by a kind', { permission_allow_list: ['execute'] }, ['allow', 'allow', 'deny']],
    ['allow_list, of nothing', { permission_allow_list: [] }, ['deny', 'deny', 'deny']],
    [
      'deny, except the use of ask_person,',
      { permission_policy: 'deny', prompt: JSON.stringify(ask(PUSH, person)) },
      ['deny', 'allow'],
    ],
  ])('%s decides without a user by the reported call', async (_name, assignment, decisions) => {
    const plane = await start(questions, { permission_policy: 'allow_list', interactive: false, ...assignment });
    await plane.untilEvent('turn_ended');
    expect(plane.data<PermissionDecided>('permission_decided').map(({ decision, by }) => [decision, by])).toEqual(
      decisions.map((decision) => [decision, 'policy']),
    );
    expect(
      plane.said
        .trim()
        .split('\n')
        .map((line) => line.split(' | ')[1]),
    ).toEqual(decisions.map((decision) => (decision === 'allow' ? 'allow_once' : 'reject_once')));
  });

  it('allow_list requests a decision when no entry matches', async () => {
    const plane = await start(questions, { permission_policy: 'allow_list', permission_allow_list: ['execute'] });
    await plane.untilEvent('permission_requested', 3);
    expect(plane.data<PermissionRequested>('permission_requested').map(({ ask: isAsked }) => isAsked)).toEqual([
      false,
      false,
      true,
    ]);
    plane.decide(await asked(plane, 3), 'allow');
    await plane.untilEvent('turn_ended');
    expect(plane.said).toContain('Change a.txt | allow_once');
  });
});

describe('the usage of an agent', () => {
  const steps = [{ cost: 0.5 }, { cost: 0.75 }, { tokens: 100 }];

  it('is reported at the end of its turn', async () => {
    const plane = await start(steps, {});
    await plane.untilEvent('turn_ended');
    expect(plane.data<Usage>('usage')).toEqual([
      { input_tokens: 100, output_tokens: 0, total_tokens: 100, cost_usd: 0.75 },
    ]);
  });

  it('is reported during the turn of a run with a usage limit', async () => {
    const plane = await start([...steps, { wait: true }], { reports_usage_early: true });
    await plane.untilEvent('usage', 2);
    expect(plane.events('turn_ended')).toEqual([]);
    plane.want('stop');
    await plane.untilEvent('turn_ended');
    expect(plane.data<Usage>('usage')).toEqual([{ cost_usd: 0.5 }, { cost_usd: 0.25 }]);
  });
});
