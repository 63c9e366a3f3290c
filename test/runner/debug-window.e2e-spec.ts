import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { SetupFailed, TurnEnded, TurnStarted } from '#execution/runner-protocol';
import { fence, prompt, RunnerProcess, type StartOptions } from './runner-process.js';

const runners: RunnerProcess[] = [];
const start = async ({ assignment, ...options }: StartOptions = {}): Promise<RunnerProcess> => {
  const runner = await RunnerProcess.start({
    ...options,
    assignment: {
      prompt: fence('sh', 'touch own-prompt'),
      base_prompt: fence('sh', 'touch base-prompt'),
      failure_session_retention_minutes: 5,
      environment: {
        uid: 'e'.repeat(22),
        setup_commands: ['echo prepared > state', "printf '%s\\n' broken '```sh' 'touch trapped' '```'; exit 7"],
        env: {},
      },
      ...assignment,
    },
  });
  runners.push(runner);
  return runner;
};
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.dispose()));
});

describe('after a set-up that failed, with a debug window', () => {
  it('waits without an agent, and handles messages to the debug agent only', async () => {
    const runner = await start({ prepare: (plane) => plane.say('f1', fence('sh', 'touch for-the-run')) });
    const { plane } = runner;
    await plane.untilEvent('setup_failed');
    expect(plane.data<SetupFailed>('setup_failed')).toEqual([
      { message: expect.stringMatching(/^Set-up command 2 .*failed with exit code 7\.\nbroken\n/s), exit_code: 7 },
    ]);
    plane.say('f1', fence('sh', 'touch for-the-run'), { debug: true });
    await plane.until(() => existsSync(join(runner.work, 'for-the-run')), 'the message, meant for the debug agent now');
    await plane.untilEvent('turn_ended');
    plane.say('f2', prompt('And:', fence('sh', 'cat state')), { debug: true });
    await plane.untilEvent('turn_ended', 2);
    expect(plane.calls().at(-1)).toMatchObject({ output: { output: 'prepared\n' } });
    expect(plane.data<TurnStarted>('turn_started').map(({ followup_id: id }) => id)).toEqual(['f1', 'f2']);
    for (const file of ['own-prompt', 'base-prompt', 'trapped'])
      expect(existsSync(join(runner.work, file))).toBe(false);
    const transcript = plane.uploads.at(-1)?.bytes.toString() ?? '';
    expect(transcript).toContain('The set-up of this environment failed');
    expect(await runner.close()).toBe(0);
    expect(plane.finished).toMatchObject({ outcome: 'closed' });
    expect(runner.workspaceIsGone).toBe(true);
  });

  it('closes on request, and when the runner is stopped', async () => {
    for (const end of ['close', 'SIGTERM'] as const) {
      const runner = await start();
      await runner.plane.untilEvent('setup_failed');
      if (end === 'close') runner.plane.want('close');
      else runner.child.kill('SIGTERM');
      expect(await runner.exited).toBe(0);
      expect(runner.plane.finished).toMatchObject({ outcome: 'closed' });
      expect(runner.plane.events('agent_started')).toHaveLength(0);
      expect([runner.workspaceIsGone, runner.marked()]).toEqual([true, []]);
    }
  });

  it('stops an agent at work', async () => {
    const runner = await start();
    await runner.plane.untilEvent('setup_failed');
    runner.plane.say('f1', fence('sh', 'echo at work > begun; sleep 300'), { debug: true });
    await runner.plane.until(() => existsSync(join(runner.work, 'begun')), 'the command');
    runner.plane.want('stop');
    expect(await runner.exited).toBe(0);
    expect(runner.plane.finished).toMatchObject({ outcome: 'cancelled' });
    expect(runner.plane.data<TurnEnded>('turn_ended')).toMatchObject([{ stop_reason: 'cancelled' }]);
    expect(runner.marked()).toEqual([]);
  });

  it('consumes the message of an agent that cannot be started, so that it is not retried forever', async () => {
    const runner = await start({
      assignment: { harness: { type: 'gone' } },
      handover: { harnesses: { gone: { command: 'no-such-command', args: [], install_hint: 'install it' } } },
    });
    await runner.plane.untilEvent('setup_failed');
    runner.plane.say('f1', 'Why?', { debug: true });
    expect(await runner.exited).toBe(0);
    expect(runner.plane.data<TurnStarted>('turn_started')).toMatchObject([{ followup_id: 'f1', prompt: 'Why?' }]);
    expect(runner.plane.data<TurnEnded>('turn_ended')).toMatchObject([
      { stop_reason: 'error', message: expect.stringContaining('install it') },
    ]);
    expect(runner.plane.finished).toMatchObject({ outcome: 'failed', error_code: 'agent_process_failed' });
  });
});

describe('an execution that resumes a session of a debug window', () => {
  it('starts with the base prompt and the prompt of the run', async () => {
    const first = await start();
    await first.plane.untilEvent('setup_failed');
    first.plane.say('f1', 'What is wrong?', { debug: true });
    await first.plane.untilEvent('turn_ended');
    const { bytes, sessionId } = first.plane.uploads.at(-1) ?? {};
    await first.close();
    const runner = await start({
      assignment: {
        environment: null,
        resume: { session_id: sessionId ?? '', transcript: true, debug: true },
      },
      prepare: (plane) => {
        plane.storedTranscript = bytes ?? null;
      },
    });
    await runner.plane.untilEvent('turn_ended');
    expect(runner.plane.data('session_started')).toMatchObject([{ session_id: sessionId, resumed: true }]);
    for (const file of ['own-prompt', 'base-prompt']) expect(readFileSync(join(runner.work, file), 'utf8')).toBe('');
    await runner.close();
  });
});
