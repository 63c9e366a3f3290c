import { afterEach, describe, expect, it } from 'vitest';
import type { PermissionRequested, TurnEnded } from '#execution/runner-protocol';
import { AGENT_USERS, fence, prompt, RunnerProcess, type StartOptions } from './runner-process.js';

const runners: RunnerProcess[] = [];
const start = async (options: StartOptions = {}): Promise<RunnerProcess> => {
  const runner = await RunnerProcess.start(options);
  runners.push(runner);
  return runner;
};
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.dispose()));
});

/** Leaves a child in another session, one that ignores SIGTERM, and then sleeps itself. */
const stubborn = prompt(
  fence(
    'sh',
    'setsid sleep 300 >/dev/null 2>&1 &\n(trap "" TERM; setsid sh -c \'trap "" TERM; while :; do sleep 1; done\') >/dev/null 2>&1 &\necho ready; sleep 300',
  ),
);
/** Resolves when the command says that its children are there. */
const ready = (runner: RunnerProcess): Promise<void> =>
  runner.plane.until(() => JSON.stringify(runner.plane.calls()).includes('ready\\n'), 'the command has its children');

async function secondsUntil(gone: () => boolean, limitMs: number): Promise<number> {
  const startedAt = performance.now();
  while (!gone()) {
    if (performance.now() - startedAt > limitMs) throw new Error(`Still there after ${limitMs} ms.`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return (performance.now() - startedAt) / 1000;
}

describe('a cancellation', () => {
  it.each(AGENT_USERS)(
    'ends the process tree within five seconds, also setsid children, as %s',
    async (_name, ownUser) => {
      const runner = await start({ assignment: { prompt: stubborn }, ownUser });
      await ready(runner);
      expect(runner.marked().length).toBeGreaterThanOrEqual(4);
      runner.plane.want('stop');
      expect(await secondsUntil(() => runner.marked().length === 0, 5_000)).toBeLessThan(5);
      expect(await runner.exited).toBe(0);
      expect(runner.plane.finished).toEqual({ lease_epoch: 7, outcome: 'cancelled' });
      expect(runner.plane.data<TurnEnded>('turn_ended')).toMatchObject([{ stop_reason: 'cancelled' }]);
      expect(runner.plane.calls()).toMatchObject([{ status: 'failed' }]);
      expect(runner.workspaceIsGone).toBe(true);
    },
  );

  it('escalates to SIGTERM and SIGKILL when the agent ignores the cancellation', async () => {
    // An agent that speaks enough of the protocol to get its prompt and then ignores everything.
    const deaf = `trap '' TERM
      while read -r line; do
        case "$line" in
          *'"initialize"'*) echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}';;
          *'"session/new"'*) echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"deaf"}}';;
          *'"session/prompt"'*) while :; do sleep 1; done;;
        esac
      done`;
    const runner = await start({
      assignment: { harness: { type: 'deaf' } },
      limits: { cancel_step_seconds: 0.4 },
      handover: { harnesses: { deaf: { command: 'bash', args: ['-c', deaf], install_hint: '' } } },
    });
    await runner.plane.untilEvent('turn_started');
    const startedAt = performance.now();
    runner.plane.want('stop');
    expect(await runner.exited).toBe(0);
    expect(performance.now() - startedAt).toBeGreaterThan(750);
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    expect(runner.plane.finished?.outcome).toBe('cancelled');
    expect(runner.marked()).toEqual([]);
  });

  it('ends a set-up command', async () => {
    const runner = await start({
      assignment: {
        environment: { uid: 'e'.repeat(22), setup_commands: ['setsid sleep 300 & sleep 300', 'touch never'], env: {} },
      },
    });
    await runner.plane.untilEvent('setup_started');
    runner.plane.want('stop');
    expect(await runner.exited).toBe(0);
    expect(runner.plane.finished?.outcome).toBe('cancelled');
    expect(runner.plane.events('turn_started')).toHaveLength(0);
    expect(runner.marked()).toEqual([]);
  });

  it('withdraws a pending permission request', async () => {
    const runner = await start({
      assignment: {
        prompt: prompt(fence('ask title=May I?'), fence('sh', 'echo yes')),
        permission_policy: 'ask',
        interactive: true,
      },
    });
    await runner.plane.untilEvent('permission_requested');
    runner.plane.want('stop');
    expect(await runner.exited).toBe(0);
    const [asked] = runner.plane.data<PermissionRequested>('permission_requested');
    expect(runner.plane.data('permission_decided')).toMatchObject([
      { approval_id: asked?.approval_id, decision: 'deny', by: 'cancel' },
    ]);
    expect(runner.plane.data<TurnEnded>('turn_ended')).toMatchObject([{ stop_reason: 'cancelled' }]);
    expect(JSON.stringify(runner.plane.calls())).not.toContain('yes\\n');
  });

  it('kills at once on request', async () => {
    const runner = await start({ assignment: { prompt: stubborn }, limits: { cancel_step_seconds: 20 } });
    await ready(runner);
    runner.plane.want('kill');
    expect(await secondsUntil(() => runner.marked().length === 0, 2_000)).toBeLessThan(2);
    expect(await runner.exited).toBe(0);
    expect(runner.plane.finished?.outcome).toBe('cancelled');
  });
});

describe('a lost lease', () => {
  const chatty = prompt(
    fence('sh', 'setsid sleep 300 >/dev/null 2>&1 &\necho ready; while :; do echo tick; sleep 0.1; done'),
  );

  it.each(['POST /events', 'POST /beat', 'GET /commands'])(
    'ends all processes after a 412 to %s without further reports',
    async (call) => {
      const runner = await start({ assignment: { prompt: chatty, next_beat_seconds: 0.5 } });
      const { plane } = runner;
      await ready(runner);
      expect(runner.marked().length).toBeGreaterThanOrEqual(3);
      plane.fail(call, 412, 1000);
      plane.say('f1', 'This only ends the long poll.');
      expect(await runner.exited).toBe(75);
      expect(runner.marked()).toEqual([]);
      expect(plane.requests.some(({ status }) => status === 412)).toBe(true);
      expect(plane.events('turn_ended')).toHaveLength(0);
      expect(plane.uploads).toHaveLength(0);
      expect(plane.finished).toBeNull();
      expect(runner.workspaceIsGone).toBe(true);
    },
  );

  it('fences itself before its lease expires when the control plane does not respond', async () => {
    const runner = await start({ assignment: { prompt: stubborn, ttl_seconds: 3, next_beat_seconds: 1 } });
    await ready(runner);
    await runner.plane.until(() => runner.plane.requests.some(({ call }) => call === 'POST /beat'), 'a beat');
    const lastAnswer = performance.now();
    runner.plane.goSilent();
    // The server gives the execution up a third of the lease after its end; the exact moment is lease.spec's business.
    await secondsUntil(() => runner.marked().length === 0, 4_000);
    expect(performance.now() - lastAnswer).toBeLessThan(4_000);
    expect(await runner.exited).toBe(75);
    expect(runner.workspaceIsGone).toBe(true);
  });

  it('continues after an outage that is shorter than the lease', async () => {
    const runner = await start({
      assignment: { prompt: fence('sh', 'sleep 2; echo still here'), ttl_seconds: 3, next_beat_seconds: 0.5 },
    });
    await runner.plane.untilEvent('turn_started');
    for (const call of ['POST /beat', 'POST /events', 'GET /commands']) runner.plane.fail(call, 503, 2);
    await runner.plane.untilEvent('turn_ended');
    expect(JSON.stringify(runner.plane.calls())).toContain('still here\\n');
  });

  it('keeps a lease whose fractions are not whole milliseconds', async () => {
    const runner = await start({
      // A busy machine may delay the runner for a few seconds.
      assignment: { prompt: fence('sh', 'sleep 8; echo still here'), ttl_seconds: 6.5, next_beat_seconds: 0.7 },
    });
    await runner.plane.untilEvent('turn_ended');
    expect(JSON.stringify(runner.plane.calls())).toContain('still here\\n');
  });

  it('does not start when the claim is rejected', async () => {
    const runner = await start({ prepare: (plane) => plane.fail('POST /claim', 412) });
    expect(await runner.exited).toBe(77);
    expect(runner.plane.requests).toHaveLength(1);
  });

  it('repeats the claim as the same instance', async () => {
    const runner = await start({ prepare: (plane) => plane.fail('POST /claim', 503, 2) });
    await runner.plane.untilEvent('turn_ended');
    const claims = runner.plane.requests.filter(({ call }) => call === 'POST /claim');
    expect(claims).toHaveLength(3);
    expect(new Set(claims.map(({ body }) => body.toString())).size).toBe(1);
  });
});

describe('a signal to the runner', () => {
  it('ends a started run as an infrastructure timeout: SIGTERM', async () => {
    const runner = await start({ assignment: { prompt: stubborn } });
    await ready(runner);
    runner.child.kill('SIGTERM');
    expect(await runner.exited).toBe(0);
    expect(runner.plane.finished).toMatchObject({ outcome: 'failed', error_code: 'infrastructure_timeout' });
    expect(runner.plane.data<TurnEnded>('turn_ended')).toMatchObject([{ stop_reason: 'cancelled' }]);
    expect(runner.marked()).toEqual([]);
  });

  it('closes an idle session: SIGTERM', async () => {
    const runner = await start();
    await runner.plane.untilEvent('turn_ended');
    runner.child.kill('SIGTERM');
    expect(await runner.exited).toBe(0);
    expect(runner.plane.finished).toMatchObject({ outcome: 'closed' });
  });

  it.each(['SIGWINCH', 'SIGTERM'] as const)('hands back a run that has not started: %s', async (signal) => {
    const runner = await start({
      assignment: { environment: { uid: 'e'.repeat(22), setup_commands: ['sleep 300'], env: {} } },
    });
    await runner.plane.untilEvent('setup_started');
    runner.child.kill(signal);
    expect(await runner.exited).toBe(0);
    expect(runner.plane.finished).toEqual({ lease_epoch: 7, outcome: 'handed_back' });
    expect(runner.marked()).toEqual([]);
  });

  it('lets the agent finish its turn before the session is closed: SIGWINCH', async () => {
    const runner = await start({ assignment: { prompt: '```sh\nsleep 1; echo finished\n```' } });
    await runner.plane.untilEvent('turn_started');
    runner.child.kill('SIGWINCH');
    expect(await runner.exited).toBe(0);
    expect(runner.plane.data<TurnEnded>('turn_ended')).toMatchObject([{ stop_reason: 'end_turn' }]);
    expect(runner.plane.finished).toMatchObject({ outcome: 'closed' });
  });

  it('stops faster at the second signal', async () => {
    const runner = await start({
      assignment: { harness: { type: 'hung' } },
      limits: { cancel_step_seconds: 60 },
      handover: {
        harnesses: {
          hung: { command: 'bash', args: ['-c', 'trap "" TERM; while :; do sleep 1; done'], install_hint: '' },
        },
      },
    });
    await runner.plane.untilEvent('sandbox_ready');
    await secondsUntil(() => runner.marked().length > 0, 5_000);
    runner.child.kill('SIGTERM');
    await secondsUntil(() => runner.logged.includes('"ending"'), 5_000);
    runner.child.kill('SIGTERM');
    expect(await runner.exited).toBe(0);
    expect(runner.plane.finished?.outcome).toBe('handed_back');
    expect(runner.marked()).toEqual([]);
  });
});
