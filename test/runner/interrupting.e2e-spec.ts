import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type { Assignment, PermissionRequested, TurnEnded, TurnStarted } from '#execution/runner-protocol';
import { fence, prompt, RunnerProcess, type StartOptions, withToolNotice } from './runner-process.js';

const AGENT = fileURLToPath(new URL('../support/scripted-agent.mjs', import.meta.url));

let runner: RunnerProcess | null = null;
afterEach(async () => {
  await runner?.dispose();
  runner = null;
});

async function start(options: StartOptions): Promise<RunnerProcess> {
  runner = await RunnerProcess.start(options);
  return runner;
}
const startScripted = (steps: readonly object[], assignment: Partial<Assignment> = {}): Promise<RunnerProcess> =>
  start({
    assignment: { prompt: JSON.stringify(steps), harness: { type: 'scripted' }, ...assignment },
    handover: {
      harnesses: { scripted: { command: process.execPath, args: [AGENT], install_hint: 'comes with the tests' } },
    },
  });
const turnOf = (plane: RunnerProcess['plane'], index = 0): string =>
  plane.data<TurnStarted>('turn_started')[index]?.turn_id ?? '';
const ends = (plane: RunnerProcess['plane']): TurnEnded[] => plane.data<TurnEnded>('turn_ended');
const untilSaid = (plane: RunnerProcess['plane'], text: string): Promise<void> =>
  plane.until(() => plane.said.includes(text), `the agent has said "${text}"`);

const FOLLOW_UP = '0197f000-0000-7000-8000-000000000001';
const SECOND = '0197f000-0000-7000-8000-000000000002';

describe('an interrupt of a turn', () => {
  it('ends the turn as cancelled, and the next message continues in the same process and session', async () => {
    const running = await startScripted([{ wait: true }]);
    const { plane } = running;
    await untilSaid(plane, 'working');
    const turn = turnOf(plane);
    plane.interrupt(turn);
    await plane.untilEvent('turn_ended');
    expect(ends(plane)).toEqual([{ turn_id: turn, stop_reason: 'cancelled', interrupt: 'done' }]);
    plane.say(FOLLOW_UP, JSON.stringify([{ say: 'continued' }]));
    await plane.untilEvent('turn_ended', 2);
    expect(ends(plane)[1]).toMatchObject({ turn_id: turnOf(plane, 1), stop_reason: 'end_turn' });
    expect(ends(plane)[1]).not.toHaveProperty('interrupt');
    expect(plane.said).toContain('continued');
    expect(plane.events('session_started')).toHaveLength(1);
    expect(plane.events('agent_started')).toHaveLength(1);
    expect(plane.finished).toBeNull();
    expect(running.child.exitCode).toBeNull();
  });

  it('stops the command of the built-in agent, reports its call as failed and stores the transcript before the end', async () => {
    const { plane } = await start({ assignment: { prompt: prompt(fence('sh', 'echo ready; sleep 300')) } });
    await plane.until(() => JSON.stringify(plane.calls()).includes('ready\\n'), 'the command is running');
    plane.interrupt(turnOf(plane));
    await plane.untilEvent('turn_ended');
    expect(ends(plane)).toMatchObject([{ stop_reason: 'cancelled', interrupt: 'done' }]);
    expect(plane.calls()).toMatchObject([{ status: 'failed' }]);
    expect(plane.uploads).toHaveLength(1);
    plane.say(FOLLOW_UP, fence('sh', 'echo again'));
    await plane.untilEvent('turn_ended', 2);
    expect(plane.said).toContain('turn 2');
    expect(JSON.stringify(plane.calls())).toContain('again\\n');
  });

  it('is not repeated for a later turn, although the control plane repeats it', async () => {
    const { plane } = await startScripted([{ wait: true }]);
    await untilSaid(plane, 'working');
    plane.interrupt(turnOf(plane));
    await plane.untilEvent('turn_ended');
    // The order for the first turn is part of these commands too.
    plane.say(FOLLOW_UP, JSON.stringify([{ ask: { title: 'Push', kind: 'execute', input: {} } }, { say: 'pushed' }]));
    await plane.untilEvent('turn_ended', 2);
    expect(plane.said).toContain('pushed');
    expect(ends(plane)[1]).toMatchObject({ stop_reason: 'end_turn' });
  });

  it('for a turn that has ended changes nothing', async () => {
    const { plane } = await startScripted([{ say: 'done' }]);
    await plane.untilEvent('turn_ended');
    plane.interrupt(turnOf(plane));
    plane.say(FOLLOW_UP, JSON.stringify([{ say: 'continued' }]));
    await plane.untilEvent('turn_ended', 2);
    expect(ends(plane).map(({ stop_reason: reason }) => reason)).toEqual(['end_turn', 'end_turn']);
  });

  it('interrupts two turns, one after the other', async () => {
    const { plane } = await startScripted([{ wait: true }]);
    await untilSaid(plane, 'working');
    plane.interrupt(turnOf(plane));
    await plane.untilEvent('turn_ended');
    plane.say(FOLLOW_UP, JSON.stringify([{ say: 'second' }, { wait: true }]));
    await untilSaid(plane, 'second\nworking');
    plane.interrupt(turnOf(plane, 1));
    await plane.untilEvent('turn_ended', 2);
    expect(ends(plane).map(({ interrupt }) => interrupt)).toEqual(['done', 'done']);
  });

  it('delivers a message that waits as the next turn', async () => {
    const { plane } = await startScripted([{ wait: true }]);
    await untilSaid(plane, 'working');
    plane.say(FOLLOW_UP, JSON.stringify([{ say: 'first waiting' }]));
    plane.say(SECOND, JSON.stringify([{ say: 'second waiting' }]));
    plane.interrupt(turnOf(plane));
    await plane.untilEvent('turn_ended', 3);
    expect(plane.data<TurnStarted>('turn_started').map(({ followup_id: id }) => id)).toEqual([
      undefined,
      FOLLOW_UP,
      SECOND,
    ]);
    expect(plane.said).toContain('first waiting\nsecond waiting');
  });

  it('answers a permission request as cancelled, and reports no decision that the control plane has made', async () => {
    const question = { title: 'Push', kind: 'execute', name: 'Bash', input: { command: 'git push' } };
    const { plane } = await startScripted([{ ask: question }], { permission_policy: 'ask', interactive: true });
    await plane.untilEvent('permission_requested');
    const [asked] = plane.data<PermissionRequested>('permission_requested');
    plane.interrupt(turnOf(plane), 30, [{ approval_id: asked?.approval_id ?? '', decision: 'deny' }]);
    await plane.untilEvent('turn_ended');
    expect(ends(plane)).toMatchObject([{ stop_reason: 'cancelled', interrupt: 'done' }]);
    expect(plane.events('permission_decided')).toEqual([]);
    expect(plane.said).toBe('');
    plane.say(FOLLOW_UP, JSON.stringify([{ ask: question }]));
    await plane.untilEvent('permission_requested', 2);
    plane.decide(plane.data<PermissionRequested>('permission_requested')[1]?.approval_id ?? '', 'allow');
    await plane.untilEvent('turn_ended', 2);
    expect(plane.said).toBe('Push | allow_once\n');
  });

  it('withdraws a permission request that the control plane does not know yet', async () => {
    const { plane } = await startScripted([{ ask: { title: 'Push', kind: 'execute', input: {} } }], {
      permission_policy: 'ask',
      interactive: true,
    });
    await plane.untilEvent('permission_requested');
    plane.interrupt(turnOf(plane));
    await plane.untilEvent('turn_ended');
    expect(plane.data('permission_decided')).toMatchObject([{ decision: 'deny', by: 'cancel' }]);
  });

  it.each([
    ['with an error', { fail: { code: -32603, message: 'aborted' } }],
    ['with another stop reason', { answer: { stopReason: 'refusal' } }],
  ])('ends the turn as interrupted when the agent answers the cancel %s', async (_name, onCancel) => {
    const { plane } = await startScripted([{ untilCancelled: true }, onCancel]);
    await untilSaid(plane, 'working');
    plane.interrupt(turnOf(plane));
    await plane.untilEvent('turn_ended');
    expect(ends(plane)).toEqual([{ turn_id: turnOf(plane), stop_reason: 'cancelled', interrupt: 'done' }]);
    plane.say(FOLLOW_UP, JSON.stringify([{ say: 'continued' }]));
    await plane.untilEvent('turn_ended', 2);
    expect(plane.said).toContain('continued');
  });
});

describe('an agent that does not answer an interrupt', () => {
  it('is stopped after the timeout, and the end of the execution says why', async () => {
    const running = await startScripted([{ say: 'working' }, { hang: true }]);
    const { plane } = running;
    await untilSaid(plane, 'working');
    plane.interrupt(turnOf(plane), 0.3);
    await plane.until(() => plane.finished !== null, 'the execution has ended');
    const message = 'The agent did not end its turn within 0.3 s of an interrupt, and was stopped.';
    expect(plane.finished).toEqual({
      lease_epoch: 7,
      outcome: 'failed',
      error_code: 'agent_process_failed',
      message,
    });
    expect(ends(plane)).toMatchObject([
      { stop_reason: 'error', interrupt: 'unanswered', error_code: 'agent_process_failed', message },
    ]);
    expect(await running.exited).toBe(0);
  });

  it('is cancelled as usual by a cancellation that follows', async () => {
    const running = await startScripted([{ say: 'working' }, { hang: true }]);
    const { plane } = running;
    await untilSaid(plane, 'working');
    plane.interrupt(turnOf(plane), 60);
    plane.want('stop');
    expect(await running.exited).toBe(0);
    expect(plane.finished).toEqual({ lease_epoch: 7, outcome: 'cancelled' });
    expect(ends(plane)).toEqual([{ turn_id: turnOf(plane), stop_reason: 'cancelled' }]);
  });

  it('that exits instead is reported as a failed agent', async () => {
    const { plane } = await startScripted([{ untilCancelled: true }, { exit: 3 }]);
    await untilSaid(plane, 'working');
    plane.interrupt(turnOf(plane));
    await plane.until(() => plane.finished !== null, 'the execution has ended');
    expect(plane.finished).toMatchObject({ outcome: 'failed', error_code: 'agent_process_failed', exit_code: 3 });
    expect(ends(plane)).toMatchObject([{ stop_reason: 'error' }]);
  });
});

describe('an interrupt before the agent has its prompt', () => {
  it('ends the turn without the prompt, which precedes the next message together with the base prompt', async () => {
    const { plane } = await start({
      assignment: { prompt: 'First.', base_prompt: 'Base.', harness: { type: 'echo' } },
      handover: {
        harnesses: {
          echo: {
            command: process.execPath,
            args: [fileURLToPath(new URL('echo-agent.mjs', import.meta.url))],
            install_hint: 'comes with the tests',
          },
        },
      },
      // The runner gets the order before the acknowledgement of its turn.
      prepare: (double) => double.holdAcknowledgementOf('turn_started'),
    });
    await plane.untilEvent('turn_started');
    plane.interrupt(turnOf(plane));
    await plane.untilCommandsRead();
    plane.releaseAcknowledgement();
    await plane.untilEvent('turn_ended');
    expect(ends(plane)).toEqual([{ turn_id: turnOf(plane), stop_reason: 'cancelled', interrupt: 'done' }]);
    expect(plane.said).toBe('');
    plane.say(FOLLOW_UP, 'Second.');
    await plane.untilEvent('turn_ended', 2);
    expect(JSON.parse(plane.said)).toEqual([{ type: 'text', text: `Base.\n\n${withToolNotice('First.\n\nSecond.')}` }]);
  });

  it('keeps the files of a message that the agent did not get', async () => {
    const command = process.execPath;
    const args = [fileURLToPath(new URL('echo-agent.mjs', import.meta.url))];
    const { plane } = await start({
      assignment: { prompt: 'First.', harness: { type: 'echo' } },
      handover: { harnesses: { echo: { command, args, install_hint: 'comes with the tests' } } },
      prepare: (double) => void double.storedAttachments.set('a1', Buffer.from('x')),
    });
    await plane.untilEvent('turn_ended');
    plane.holdAcknowledgementOf('turn_started');
    const file = { attachment_id: 'a1', file_name: 'a.txt', mime_type: 'text/plain', size_bytes: 1 };
    plane.say(FOLLOW_UP, 'Look.', { attachments: [file] });
    await plane.untilEvent('turn_started', 2);
    plane.interrupt(turnOf(plane, 1));
    await plane.untilCommandsRead();
    plane.releaseAcknowledgement();
    await plane.untilEvent('turn_ended', 2);
    plane.say(SECOND, 'Continue.');
    await plane.untilEvent('turn_ended', 3);
    expect(JSON.parse(plane.data<{ text: string }>('message_chunk').at(-1)?.text ?? '')).toMatchObject([
      { type: 'text', text: 'Look.\n\nContinue.' },
      { type: 'resource_link', name: 'a.txt' },
    ]);
  });
});
