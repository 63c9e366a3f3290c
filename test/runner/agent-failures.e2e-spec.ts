import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type {
  AgentWaiting,
  Assignment,
  HarnessDefinition,
  PermissionDecided,
  TurnEnded,
} from '#execution/runner-protocol';
import { RunnerProcess } from './runner-process.js';

const AGENT = fileURLToPath(new URL('../support/scripted-agent.mjs', import.meta.url));

let runner: RunnerProcess | null = null;
afterEach(async () => {
  await runner?.dispose();
  runner = null;
});

interface Options {
  /** Of the harness. */
  readonly name?: string;
  readonly assignment?: Partial<Assignment>;
  readonly harness?: Partial<HarnessDefinition>;
  readonly progressTimeoutSeconds?: number;
}

async function start(steps: readonly object[], options: Options = {}): Promise<RunnerProcess> {
  const { name = 'scripted', assignment, harness, progressTimeoutSeconds: timeout } = options;
  runner = await RunnerProcess.start({
    assignment: { prompt: JSON.stringify(steps), harness: { type: name }, ...assignment },
    handover: {
      harnesses: {
        [name]: { command: process.execPath, args: [AGENT], install_hint: 'comes with the tests', ...harness },
      },
    },
    ...(timeout === undefined ? {} : { limits: { agent_progress_timeout_seconds: timeout } }),
  });
  return runner;
}

const sessionFailure = (fields: object) => ({ _meta: { jetbrains: { air: { version: 1, sessionFailure: fields } } } });

describe('a turn that has failed', () => {
  const LIMIT = 'exceeded retry limit, last status: 429 Too Many Requests';
  const RATE_LIMITED = {
    error_code: 'rate_limited',
    retryable: true,
    message: 'The model provider limits the rate of requests.',
    detail: LIMIT,
  };
  const TRACE = `boom\n    at run (file:///opt/agent/dist/index.js:10:3)\n    at async /opt/agent/dist/main.js:1:1\n`;

  it.each<[string, object[], object]>([
    [
      'with a typed failure beside its answer',
      [
        { tokens: 5 },
        { answer: sessionFailure({ severity: 'error', category: 'limit', title: LIMIT, actions: ['retry'] }) },
      ],
      RATE_LIMITED,
    ],
    ['with nothing but the text of an error', [{ say: `Warning: no metadata.\n\n${LIMIT}` }], RATE_LIMITED],
    [
      'without any output',
      [],
      { error_code: 'agent_process_failed', message: 'The agent ended its turn without any output.' },
    ],
    [
      'with the provider’s JSON as an error',
      [{ fail: { code: 401, message: '{"error":{"code":401,"message":"Incorrect API key provided."}}' } }],
      {
        error_code: 'external_authentication_required',
        retryable: false,
        message: 'The model provider requires valid credentials.',
        detail: 'Incorrect API key provided.',
      },
    ],
    [
      'with an error, while it logs stack traces',
      [{ stderr: TRACE }, { fail: { code: -32603, message: 'Internal error', data: { details: '500 It broke' } } }],
      {
        error_code: 'agent_process_failed',
        retryable: true,
        message: 'The model provider reported an error.',
        detail: '500 It broke',
      },
    ],
    [
      'by the end of its process, with a stack trace',
      [{ stderr: TRACE }, { exit: 3 }],
      { message: 'The agent crashed: its process ended during the turn (exit code 3).', detail: 'boom', exit_code: 3 },
    ],
    [
      'by a signal, while a child holds the streams of the process',
      [{ orphan: true }],
      {
        message: 'The agent crashed: its process ended during the turn (signal SIGKILL).',
        retryable: true,
        exit_code: 137,
      },
    ],
  ])('%s fails the run with a code and a readable message', async (_name, steps, report) => {
    const { plane, exited } = await start(steps);
    expect(await exited).toBe(0);
    expect(plane.finished).toMatchObject({ outcome: 'failed', ...report });
    const { exit_code: _exitCode, ...reported } = report as { exit_code?: number };
    expect(plane.data<TurnEnded>('turn_ended')).toMatchObject([{ stop_reason: 'error', ...reported }]);
    expect(JSON.stringify(plane.finished)).not.toMatch(/index\.js|\/opt/);
  });

  it('is not assumed when the agent has used tokens or called a tool', async () => {
    const call = { sessionUpdate: 'tool_call', toolCallId: 'c', title: 'ls', status: 'completed' };
    const { plane } = await start([{ update: call }, { say: LIMIT }]);
    await plane.untilEvent('turn_ended');
    expect(plane.data<TurnEnded>('turn_ended')).toMatchObject([{ stop_reason: 'end_turn' }]);
  });
});

describe('an agent that makes no progress', () => {
  const retry = {
    notify: {
      method: '_claude/sdkMessage',
      params: {
        message: {
          type: 'system',
          subtype: 'api_retry',
          attempt: 2,
          max_retries: 10,
          error_status: 429,
          error: 'rate_limit',
        },
      },
    },
  };

  it('is reported with the reason until it continues', async () => {
    const { plane } = await start([retry, { say: 'Done.' }]);
    await plane.untilEvent('turn_ended');
    expect(plane.data<AgentWaiting>('agent_waiting')).toEqual([
      { message: 'The agent waits for the rate limit of its model provider (attempt 2 of 10).' },
    ]);
    expect(plane.events('agent_resumed')).toHaveLength(1);
  });

  it('is reported by a typed warning of the session', async () => {
    const failure = { severity: 'warning', category: 'connection', title: 'Reconnecting... 3/5', actions: [] };
    const { plane } = await start([
      { update: { sessionUpdate: 'session_info_update', ...sessionFailure(failure) } },
      { say: 'Done.' },
    ]);
    await plane.untilEvent('turn_ended');
    expect(plane.data<AgentWaiting>('agent_waiting')).toEqual([
      { message: 'The agent reconnects to its model provider (attempt 3 of 5).' },
    ]);
  });

  it('is reported with the time of the next attempt', async () => {
    const { message } = retry.notify.params;
    const params = { message: { ...message, retry_delay_ms: 34_070 } };
    const { plane } = await start([{ notify: { ...retry.notify, params } }, { say: 'Done.' }]);
    await plane.untilEvent('turn_ended');
    expect(plane.data<AgentWaiting>('agent_waiting')).toEqual([
      {
        message: 'The agent waits for the rate limit of its model provider (attempt 2 of 10, next attempt in 35 s).',
      },
    ]);
  });

  it('is reported by a line of its log, and named when the time is over', async () => {
    const line = 'level=ERROR message="stream error" error.error="AI_APICallError: Rate limit reached."\n';
    const { plane, exited } = await start([{ stderr: line }, { hang: true }], {
      name: 'opencode',
      progressTimeoutSeconds: 2,
    });
    expect(await exited).toBe(0);
    expect(plane.data<AgentWaiting>('agent_waiting')).toEqual([
      {
        message: 'The agent waits for the rate limit of its model provider.',
        detail: 'AI_APICallError: Rate limit reached.',
      },
    ]);
    expect(plane.finished).toMatchObject({
      outcome: 'failed',
      error_code: 'rate_limited',
      retryable: true,
      message:
        'The model provider limits the rate of requests. The agent made no progress for 2 s (AGENT_PROGRESS_TIMEOUT).',
    });
  });

  it('fails the run after the timeout', async () => {
    const { plane, exited } = await start([retry, { wait: true }], { progressTimeoutSeconds: 1 });
    expect(await exited).toBe(0);
    expect(plane.data<AgentWaiting>('agent_waiting').at(-1)?.message).toMatch(/has reported nothing for/);
    expect(plane.finished).toMatchObject({
      outcome: 'failed',
      retryable: true,
      message: 'The agent made no progress for 1 s (AGENT_PROGRESS_TIMEOUT).',
    });
  });
});

describe('the permission policy', () => {
  const harness = {
    env: { SCRIPTED_MODES: 'auto,default' },
    permission_modes: { ask: 'default' },
    permission_env: { SCRIPTED_MODES: 'auto,default,strict' },
  };

  it.each(['ask', 'deny', 'allow_list'] as const)(
    '%s sets the mode in which the agent requests permissions',
    async (policy) => {
      const { plane } = await start([{ mode: true }], { harness, assignment: { permission_policy: policy } });
      await plane.untilEvent('turn_ended');
      expect(plane.said).toContain('mode default');
      expect(plane.data('session_started')[0]).not.toHaveProperty('warnings');
    },
  );

  it('allow keeps the mode of the agent', async () => {
    const { plane } = await start([{ mode: true }], { harness, assignment: { permission_policy: 'allow' } });
    await plane.untilEvent('turn_ended');
    expect(plane.said).toContain('mode auto');
  });

  it('fails a run whose agent does not have that mode', async () => {
    const { plane, exited } = await start([{ say: 'never' }], {
      harness: { permission_modes: { ask: 'read-only' } },
      assignment: { permission_policy: 'deny' },
    });
    expect(await exited).toBe(0);
    expect(plane.events('agent_started')).toEqual([]);
    expect(plane.finished).toMatchObject({ outcome: 'failed', error_code: 'agent_process_failed' });
    expect(plane.finished?.message).toMatch(/does not offer its mode "read-only".*policy "deny" cannot be enforced/);
  });

  it.each([
    ['deny', '{"a":1,"b":3}'],
    ['allow', '{"a":1,"b":2}'],
  ] as const)('%s opens the session with its fields', async (policy, meta) => {
    const { plane } = await start([{ meta: true }], {
      harness: { session_meta: { a: 1, b: 2 }, permission_session_meta: { b: 3 } },
      assignment: { permission_policy: policy },
    });
    await plane.untilEvent('turn_ended');
    expect(plane.said).toContain(`meta ${meta}`);
  });

  it('sets its variables after all others', async () => {
    const { plane } = await start([{ mode: true }], {
      harness: { permission_env: { SCRIPTED_MODES: 'strict' } },
      assignment: {
        permission_policy: 'deny',
        environment: { uid: 'e'.repeat(22), setup_commands: [], env: { SCRIPTED_MODES: 'yolo' } },
      },
    });
    await plane.untilEvent('turn_ended');
    expect(plane.said).toContain('mode strict');
  });

  it('fails a turn that the agent ends because a request was denied, with that reason', async () => {
    const question = { title: 'Push', kind: 'execute', name: 'Bash', input: { command: 'git push' } };
    const { plane } = await start([{ ask: question }, { answer: { stopReason: 'cancelled' } }], {
      assignment: { permission_policy: 'deny' },
    });
    await plane.untilEvent('turn_ended');
    expect(plane.data<TurnEnded>('turn_ended')).toMatchObject([
      { stop_reason: 'error', message: 'The agent ended the turn because a permission request was denied.' },
    ]);
  });

  it('warns when the behaviour of the agent is unknown', async () => {
    const question = { title: 'Push', kind: 'execute', name: 'Bash', input: { command: 'git push' } };
    const { plane } = await start([{ ask: question }], { assignment: { permission_policy: 'deny' } });
    await plane.untilEvent('turn_ended');
    expect(plane.data<PermissionDecided>('permission_decided')).toMatchObject([{ decision: 'deny', by: 'policy' }]);
    expect(plane.data('session_started')[0]).toMatchObject({
      warnings: [expect.stringContaining('not known whether this agent requests permission')],
    });
  });
});
