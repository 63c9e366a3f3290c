import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type {
  PermissionRequested,
  SessionStarted,
  SetupCommandFinished,
  TurnEnded,
  TurnStarted,
} from '#execution/runner-protocol';
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

describe('the main job', () => {
  it('runs set-up, edits files, runs a failing and a passing command, and reports everything', async () => {
    const runner = await start({
      assignment: {
        base_prompt: 'Base prompt.',
        environment: {
          uid: 'e'.repeat(22),
          setup_commands: ['echo out; echo err >&2; printf %s "$FLAVOUR" > flavour'],
          env: { FLAVOUR: 'vanilla' },
        },
        prompt: prompt(
          'Do this:',
          fence('plan', '- write\n- try'),
          fence('think', 'It should be short.'),
          fence('write path=notes/a.txt', 'one'),
          fence('append path=notes/a.txt', 'two'),
          fence('replace path=notes/a.txt', '<<<<<<<\none\n=======\n1 $& one\n>>>>>>>'),
          fence('sh', 'cat notes/a.txt flavour; exit 3'),
          fence('sh', 'echo fine >&2'),
          fence('search pattern=two'),
          fence('delete path=notes/a.txt'),
        ),
      },
    });
    const { plane } = runner;
    await plane.untilEvent('turn_ended');
    expect(plane.events().map(({ source_seq }) => source_seq)).toEqual(plane.events().map((_, index) => index + 1));
    expect(
      plane
        .events()
        .slice(0, 6)
        .map(({ kind }) => kind),
    ).toEqual([
      'sandbox_ready',
      'setup_started',
      'setup_command_finished',
      'session_started',
      'agent_started',
      'turn_started',
    ]);
    expect(plane.data<SetupCommandFinished>('setup_command_finished')[0]).toMatchObject({
      index: 0,
      exit_code: 0,
      output: 'out\nerr\n',
    });
    expect(plane.data<SessionStarted>('session_started')[0]).toMatchObject({ agent_name: 'oz', resumed: false });
    expect(plane.data<TurnStarted>('turn_started')[0]?.prompt).toMatch(/^Do this:/);
    const calls = plane.calls();
    expect(calls.map(({ tool_kind, status }) => [tool_kind, status])).toEqual([
      ['edit', 'completed'],
      ['edit', 'completed'],
      ['edit', 'completed'],
      ['execute', 'failed'],
      ['execute', 'completed'],
      ['search', 'completed'],
      ['delete', 'completed'],
    ]);
    expect(calls[2]).toMatchObject({
      content: [{ type: 'diff', path: 'notes/a.txt', old_text: 'one\ntwo\n', new_text: '1 $& one\ntwo\n' }],
    });
    expect(calls[3]).toMatchObject({ output: { exit_code: 3, output: '1 $& one\ntwo\nvanilla' } });
    expect(calls[4]).toMatchObject({ output: { exit_code: 0, output: 'fine\n' } });
    expect(plane.data('plan').at(-1)).toMatchObject({ entries: [{ status: 'completed' }, { status: 'completed' }] });
    expect(plane.data('thought_chunk')).toMatchObject([{ text: 'It should be short.' }]);
    expect(plane.said).toContain('exit code 3');
    expect(plane.data<TurnEnded>('turn_ended')).toMatchObject([{ stop_reason: 'end_turn' }]);
    expect(plane.uploads.at(-1)).toMatchObject({
      format: 'oz',
      sessionId: plane.data<SessionStarted>('session_started')[0]?.session_id,
    });
    expect(plane.uploads.at(-1)?.bytes.toString()).toContain('Base prompt.');

    expect(await runner.close()).toBe(0);
    expect(plane.finished).toEqual({ lease_epoch: 7, outcome: 'closed' });
    expect(runner.workspaceIsGone).toBe(true);
    expect(runner.marked()).toEqual([]);
    for (const secret of [plane.token, 'It should be short', 'vanilla']) expect(runner.logged).not.toContain(secret);
  });

  it('reports the start of the agent before the agent may act', async () => {
    const runner = await start({
      prepare: (plane) => plane.fail('POST /events', 503, 3),
      assignment: { prompt: fence('sh', 'true') },
    });
    await runner.plane.untilEvent('turn_ended');
    const reported = runner.plane.requests.findIndex(
      ({ call, status, body }) => call === 'POST /events' && status === 200 && body.includes('agent_started'),
    );
    const acted = runner.plane.requests.findIndex(
      ({ call, body }) => call === 'POST /events' && body.includes('tool_call'),
    );
    expect(reported).toBeGreaterThanOrEqual(0);
    expect(acted).toBeGreaterThan(reported);
  });

  it('does not let the agent act on a follow-up before the start of its turn is stored', async () => {
    const runner = await start();
    const { plane } = runner;
    await plane.untilEvent('turn_ended');
    const isRefused = ({ call, status }: { call: string; status: number }): boolean =>
      call === 'POST /events' && status === 503;
    const acted = join(runner.work, 'acted');
    plane.fail('POST /events', 503, 3);
    plane.say('f1', fence('sh', 'touch acted'));
    await plane.until(() => plane.requests.filter(isRefused).length === 3, 'three batches were refused');
    expect(existsSync(acted)).toBe(false);
    await plane.untilEvent('turn_ended', 2);
    expect(existsSync(acted)).toBe(true);
    expect(await runner.close()).toBe(0);
  });

  it('repeats a batch byte for byte after a 503, which changes nothing', async () => {
    const runner = await start({
      prepare: (plane) => plane.fail('POST /events', 503, 4),
      assignment: { prompt: fence('sh', 'seq 1 2000') },
    });
    await runner.plane.untilEvent('turn_ended');
    const batches = runner.plane.requests.filter(({ call }) => call === 'POST /events');
    const refused = batches.filter(({ status }) => status === 503);
    expect(refused).toHaveLength(4);
    const retried = batches.find(({ status }) => status === 200);
    for (const batch of refused) expect(retried?.body.equals(batch.body)).toBe(true);
    const numbers = batches
      .filter(({ status }) => status === 200)
      .flatMap(({ body }) =>
        (JSON.parse(body.toString()).events as { source_seq: number }[]).map(({ source_seq }) => source_seq),
      );
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
    expect(await runner.close()).toBe(0);
  });

  it('handles follow-ups in the live session once and in order', async () => {
    const runner = await start();
    const { plane } = runner;
    await plane.untilEvent('turn_ended');
    plane.say('f1', fence('sh', 'echo first'));
    await plane.untilEvent('turn_ended', 2);
    // Commands are a level: they name the first one again.
    plane.say('f2', fence('sh', 'echo second'));
    await plane.untilEvent('turn_ended', 3);
    expect(plane.data<TurnStarted>('turn_started').map(({ followup_id }) => followup_id)).toEqual([
      undefined,
      'f1',
      'f2',
    ]);
    expect(plane.calls().map(({ title }) => title)).toEqual(['echo first', 'echo second']);
    expect(plane.said).toContain('turn 3 of this session');
    expect(await runner.close()).toBe(0);
    expect(plane.data('turn_started')).toHaveLength(3);
  });

  it('resumes the session in a new process from its transcript without repeated events', async () => {
    const first = await start({ assignment: { prompt: fence('sh', 'echo before') } });
    await first.plane.untilEvent('turn_ended');
    const upload = first.plane.uploads.at(-1);
    await first.close();

    const second = await start({
      assignment: { prompt: null, resume: { session_id: upload?.sessionId ?? '', transcript: true } },
      prepare: (plane) => {
        plane.storedTranscript = upload?.bytes ?? null;
        plane.say('f9', fence('sh', 'echo after'));
      },
    });
    await second.plane.untilEvent('turn_ended');
    expect(second.plane.data<SessionStarted>('session_started')).toMatchObject([
      { session_id: upload?.sessionId, resumed: true },
    ]);
    expect(second.plane.calls().map(({ title }) => title)).toEqual(['echo after']);
    expect(second.plane.said).toContain('turn 2 of this session');
    expect(await second.close()).toBe(0);
    expect(second.plane.uploads.at(-1)?.bytes.toString()).toMatch(/echo before[\s\S]*echo after/);
  });

  it('continues after the cancellation when the follow-up is empty', async () => {
    const first = await start({
      assignment: { prompt: prompt(fence('sh', 'echo one'), fence('sh', 'test -e ../home/go || sleep 60')) },
      limits: { cancel_step_seconds: 0.5 },
    });
    await first.plane.until(() => first.plane.calls()[1]?.['status'] === 'in_progress', 'the second command runs');
    first.plane.want('stop');
    expect(await first.exited).toBe(0);

    const upload = first.plane.uploads.at(-1);
    const second = await start({
      assignment: {
        prompt: null,
        resume: { session_id: upload?.sessionId ?? '', transcript: true },
        environment: { uid: 'e'.repeat(22), setup_commands: ['touch "$HOME/go"'], env: {} },
      },
      prepare: (plane) => {
        plane.storedTranscript = upload?.bytes ?? null;
        plane.say('f1', '  ');
      },
    });
    await second.plane.untilEvent('turn_ended');
    expect(second.plane.data<TurnStarted>('turn_started')[0]?.prompt).toBe('Continue from where you stopped.');
    expect(second.plane.calls()).toMatchObject([{ title: 'test -e ../home/go || sleep 60', status: 'completed' }]);
  });
});

describe('permissions', () => {
  const asking = prompt(fence('ask title=Really remove it?'), fence('sh', 'echo removed'));

  it('waits for a decision and continues when it is allowed', async () => {
    const runner = await start({ assignment: { prompt: asking, permission_policy: 'ask', interactive: true } });
    const { plane } = runner;
    await plane.untilEvent('permission_requested');
    const [request] = plane.data<PermissionRequested>('permission_requested');
    expect(request).toMatchObject({
      ask: true,
      title: 'Really remove it?',
      tool_call_id: plane.calls()[0]?.['tool_call_id'],
    });
    expect(plane.events('turn_ended')).toHaveLength(0);
    plane.decide(request?.approval_id ?? '', 'allow');
    await plane.untilEvent('turn_ended');
    expect(plane.calls()).toMatchObject([
      { status: 'completed', title: 'echo removed', output: { output: 'removed\n' } },
    ]);
    expect(plane.events('permission_decided')).toHaveLength(0);
  });

  it('omits the action when it is denied', async () => {
    const runner = await start({ assignment: { prompt: asking, permission_policy: 'ask', interactive: true } });
    const { plane } = runner;
    await plane.untilEvent('permission_requested');
    plane.decide(plane.data<PermissionRequested>('permission_requested')[0]?.approval_id ?? '', 'deny', 'no');
    await plane.untilEvent('turn_ended');
    expect(plane.calls()).toMatchObject([{ status: 'failed', denied: true }]);
    expect(plane.calls()[0]).not.toHaveProperty('output');
  });

  it.each([
    ['allow', [], 'completed', 'allow'],
    ['deny', [], 'failed', 'deny'],
    ['allow_list', ['command:echo'], 'completed', 'allow'],
    ['allow_list', ['command:ls', 'read'], 'failed', 'deny'],
  ] as const)('decides by the policy %s %j', async (policy, list, status, decision) => {
    const runner = await start({
      assignment: { prompt: asking, permission_policy: policy, permission_allow_list: [...list] },
    });
    const { plane } = runner;
    await plane.untilEvent('turn_ended');
    expect(plane.data('permission_requested')).toMatchObject([{ ask: false }]);
    expect(plane.data('permission_decided')).toMatchObject([{ decision, by: 'policy' }]);
    expect(plane.calls()).toMatchObject([{ status }]);
  });
});
