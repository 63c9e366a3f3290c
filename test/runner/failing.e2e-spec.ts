import { mkdir } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { SetupCommandFinished, TurnEnded } from '#execution/runner-protocol';
import { fence, prompt, RunnerProcess, type StartOptions } from './runner-process.js';

const runners: RunnerProcess[] = [];
const start = async (options: StartOptions = {}): Promise<RunnerProcess> => {
  const runner = await RunnerProcess.start(options);
  runners.push(runner);
  return runner;
};
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.dispose()));
});

const environment = (...commands: string[]) => ({ uid: 'e'.repeat(22), setup_commands: commands, env: {} });

describe('set-up', () => {
  it('stops at the first command that fails and names it', async () => {
    const runner = await start({
      assignment: { environment: environment('echo fine', 'echo broken >&2; exit 7', 'touch never') },
    });
    expect(await runner.exited).toBe(0);
    const { plane } = runner;
    expect(plane.data<SetupCommandFinished>('setup_command_finished')).toMatchObject([
      { index: 0, exit_code: 0, output: 'fine\n' },
      { index: 1, exit_code: 7, output: 'broken\n', command: 'echo broken >&2; exit 7' },
    ]);
    expect(plane.finished).toMatchObject({ outcome: 'failed', error_code: 'environment_setup_failed', exit_code: 7 });
    expect(plane.finished?.message).toMatch(
      /Set-up command 2 \(`echo broken >&2; exit 7`\) failed with exit code 7\.\nbroken/,
    );
    expect(plane.events('agent_started')).toHaveLength(0);
    expect(runner.workspaceIsGone).toBe(true);
  });

  it('reports no part of a secret at the start of the shortened output', async () => {
    const value = 'k9-Zq7Lw2x-Vb5Nc8m-Rt4Yp1s-Hd6Jf3g-Ka0Ue';
    const runner = await start({
      assignment: {
        secrets: { DEPLOY: value },
        environment: environment(`printf '%s' "$DEPLOY"; printf 'y%.0s' $(seq 980); exit 1`),
      },
    });
    expect(await runner.exited).toBe(0);
    const message = runner.plane.finished?.message ?? '';
    expect(message).toMatch(/y{980}$/);
    for (let at = 0; at + 8 <= value.length; at += 1) expect(message).not.toContain(value.slice(at, at + 8));
  });

  it('keeps the last 16 KB of the output, stdout and stderr in their order', async () => {
    const runner = await start({
      assignment: {
        environment: environment('for i in $(seq 1 4000); do echo "line $i"; done; echo err >&2; echo out'),
      },
    });
    await runner.plane.untilEvent('setup_command_finished');
    const [result] = runner.plane.data<SetupCommandFinished>('setup_command_finished');
    expect(result?.output_truncated).toBe(true);
    expect(Buffer.byteLength(result?.output ?? '')).toBeLessThanOrEqual(16_384);
    expect(result?.output.endsWith('line 4000\nerr\nout\n')).toBe(true);
  });

  it('ends a command that takes too long', async () => {
    const runner = await start({
      assignment: { environment: environment('echo begun; sleep 300') },
      limits: { setup_command_timeout_seconds: 0.5 },
    });
    expect(await runner.exited).toBe(0);
    expect(runner.plane.data('setup_command_finished')).toMatchObject([{ exit_code: 137, output: 'begun\n' }]);
    expect(runner.plane.finished?.message).toContain('was ended after 0.5 s');
    expect(runner.marked()).toEqual([]);
  });

  it('does not wait for a service that a command leaves running, and ends it with the execution', async () => {
    const runner = await start({
      assignment: {
        environment: environment('sleep 300 & echo $! > pid'),
        prompt: fence('sh', 'kill -0 $(cat pid) && echo alive'),
      },
    });
    await runner.plane.untilEvent('turn_ended');
    expect(runner.plane.calls()).toMatchObject([{ output: { output: 'alive\n' } }]);
    expect(await runner.close()).toBe(0);
    expect(runner.marked()).toEqual([]);
  });
});

describe('the agent', () => {
  it('that dies in a turn fails the run with its exit code, and its last output as detail', async () => {
    const runner = await start({
      assignment: {
        prompt: prompt(fence('sh', 'echo before'), fence('fail', 'out of ideas'), fence('sh', 'echo never')),
      },
    });
    expect(await runner.exited).toBe(0);
    const { plane } = runner;
    expect(plane.data<TurnEnded>('turn_ended')).toMatchObject([{ stop_reason: 'error' }]);
    expect(plane.finished).toMatchObject({ outcome: 'failed', error_code: 'agent_process_failed', exit_code: 1 });
    expect(plane.finished?.message).toBe('The agent crashed: its process ended during the turn (exit code 1).');
    expect(plane.finished?.detail).toContain('out of ideas');
    const { message, detail } = plane.finished ?? {};
    expect(plane.data<TurnEnded>('turn_ended')[0]).toMatchObject({ message, detail });
    expect(plane.calls()).toHaveLength(1);
    expect(plane.uploads).not.toHaveLength(0);
  });

  it('that refuses ends its turn and waits for a follow-up', async () => {
    const runner = await start({ assignment: { prompt: fence('refuse', 'I would rather not.') } });
    await runner.plane.untilEvent('turn_ended');
    expect(runner.plane.data<TurnEnded>('turn_ended')).toMatchObject([{ stop_reason: 'refusal' }]);
    runner.plane.say('f1', fence('sh', 'echo again'));
    await runner.plane.untilEvent('turn_ended', 2);
  });

  it('that dies while idle closes the session', async () => {
    const runner = await start({ assignment: { prompt: fence('sh', '(sleep 0.3; kill -9 $PPID) >/dev/null 2>&1 &') } });
    expect(await runner.exited).toBe(0);
    expect(runner.plane.data<TurnEnded>('turn_ended')).toMatchObject([{ stop_reason: 'end_turn' }]);
    expect(runner.plane.finished).toMatchObject({ outcome: 'closed' });
  });

  it('whose command is not installed fails the run and says what to install', async () => {
    const runner = await start({
      assignment: { harness: { type: 'ghost' } },
      handover: { harnesses: { ghost: { command: 'no-such-agent', args: [], install_hint: 'npm install -g ghost' } } },
    });
    expect(await runner.exited).toBe(0);
    expect(runner.plane.finished).toMatchObject({ outcome: 'failed', error_code: 'agent_process_failed' });
    expect(runner.plane.finished?.message).toMatch(
      /"no-such-agent" of harness "ghost" was not found[\s\S]*npm install -g ghost/,
    );
  });

  it('that is unknown fails the run with the known names', async () => {
    const runner = await start({
      assignment: { harness: { type: 'gohst' } },
      handover: { harnesses: { ghost: { command: 'x', args: [], install_hint: '' } } },
    });
    expect(await runner.exited).toBe(0);
    expect(runner.plane.finished?.message).toMatch(/Harness "gohst" not found.*oz, claude, .*ghost/);
  });

  it('whose last output is cut within a secret reports no part of the secret', async () => {
    const value = 'k9-Zq7Lw2x-Vb5Nc8m-Rt4Yp1s-Hd6Jf3g-Ka0Ue';
    const script = `printf '%s' "$DEPLOY" >&2; printf 'y%.0s' $(seq 1980) >&2; exit 4`;
    const runner = await start({
      assignment: { harness: { type: 'loud' }, secrets: { DEPLOY: value } },
      handover: { harnesses: { loud: { command: 'sh', args: ['-c', script], install_hint: '' } } },
    });
    expect(await runner.exited).toBe(0);
    const detail = runner.plane.finished?.detail ?? '';
    expect(detail).toMatch(/y{1980}$/);
    for (let at = 0; at + 8 <= value.length; at += 1) expect(detail).not.toContain(value.slice(at, at + 8));
  });

  it('that does not speak the protocol fails the run', async () => {
    const runner = await start({
      assignment: { harness: { type: 'rude' } },
      handover: {
        harnesses: {
          rude: { command: 'sh', args: ['-c', 'echo hello; echo no thanks >&2; exit 4'], install_hint: '' },
        },
      },
    });
    expect(await runner.exited).toBe(0);
    expect(runner.plane.finished).toMatchObject({
      outcome: 'failed',
      error_code: 'agent_process_failed',
      exit_code: 4,
    });
    expect(runner.plane.finished?.message).toContain('during initialize (exit code 4)');
    expect(runner.plane.finished?.detail).toContain('no thanks');
  });

  it('gets an error for unknown requests, and continues', async () => {
    const curious = `
      read -r line; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
      read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}'
      read -r line; echo '{"jsonrpc":"2.0","id":"q","method":"craft/drainMidTurnQueue","params":{}}'
      read -r answer
      text=$(printf %s "$answer" | tr -d '"{}\\\\')
      echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$text"'"}}}}'
      echo '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}'
      read -r line`;
    const runner = await start({
      assignment: { harness: { type: 'curious' } },
      handover: { harnesses: { curious: { command: 'bash', args: ['-c', curious], install_hint: '' } } },
    });
    await runner.plane.untilEvent('turn_ended');
    expect(runner.plane.said).toContain('-32601');
    expect(runner.plane.data<TurnEnded>('turn_ended')).toMatchObject([{ stop_reason: 'end_turn' }]);
  });
});

describe('limits', () => {
  it('of the disk end the run with the reason', async () => {
    const runner = await start({
      assignment: { prompt: fence('sh', 'head -c 6000000 /dev/zero > big; sleep 300') },
      limits: { max_workspace_bytes: 3_000_000 },
    });
    expect(await runner.exited).toBe(0);
    expect(runner.plane.finished).toMatchObject({ outcome: 'failed', error_code: 'agent_process_failed' });
    expect(runner.plane.finished?.message).toContain('max_workspace_bytes');
    expect(runner.plane.data<TurnEnded>('turn_ended')).toMatchObject([{ stop_reason: 'error' }]);
    expect(runner.marked()).toEqual([]);
    expect(runner.workspaceIsGone).toBe(true);
  });

  it('of the output shorten the conversation, and keep its end', async () => {
    const lines = Array.from({ length: 30 }, (_, index) =>
      fence('sh', `head -c 20000 /dev/zero | tr '\\0' x; echo ${index}`),
    );
    const runner = await start({ assignment: { prompt: prompt(...lines) }, limits: { max_output_bytes: 200_000 } });
    await runner.plane.untilEvent('turn_ended');
    const { plane } = runner;
    expect(plane.data('output_truncated')).toEqual([{ limit_bytes: 200_000 }]);
    expect(plane.data<TurnEnded>('turn_ended')).toMatchObject([{ stop_reason: 'end_turn' }]);
    expect(JSON.stringify(plane.data('tool_call')).length).toBeLessThan(250_000);
    for (const call of plane.calls()) expect(call).toMatchObject({ status: 'completed' });
    expect(await runner.close()).toBe(0);
  });
});

describe('the task file', () => {
  it('is rejected without its content when it is invalid', async () => {
    const runner = await start({ handover: { token: '', workspace_dir: 'relative-secret' } });
    expect(await runner.exited).toBe(64);
    expect(runner.logged).toMatch(/token/);
    expect(runner.logged).not.toContain('relative-secret');
    expect(runner.plane.requests).toHaveLength(0);
  });

  it('may name an existing workspace directory', async () => {
    const runner = await start({ prepare: () => undefined });
    await mkdir(runner.handover.workspace_dir, { recursive: true });
    await runner.plane.untilEvent('turn_ended');
    expect(await runner.close()).toBe(0);
    expect(runner.workspaceIsGone).toBe(true);
  });
});
