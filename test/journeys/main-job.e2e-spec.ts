import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { descendants, Installation, isAlive, type Program, runnersOf, until } from '../support/installation.js';
import { Witness } from '../support/witness.js';

const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
const fence = (info: string, body: string): string => `\`\`\`${info}\n${body}\n\`\`\``;
const sh = (script: string): string => fence('sh', script);

let installation: Installation;
let server: Program;

beforeAll(async () => {
  installation = await Installation.create({
    MAX_IDLE_SESSIONS: '1',
    MAX_CONCURRENT_RUNS: '2',
    MAX_CONCURRENT_RUNS_PER_TEAM: '2',
    CANCEL_ESCALATION_DELAY: '2s',
    LEASE_TTL: '30s',
  });
  server = await installation.up();
});

afterAll(async () => {
  await server.stopCleanly('SIGINT');
  installation.remove();
});

interface Block {
  type: string;
  [field: string]: unknown;
}

async function blocksOf(runId: string): Promise<Block[]> {
  const { status, body } = await installation.call('GET', `/agent/runs/${runId}/conversation`);
  expect(status).toBe(200);
  return (body.steps as { messages: { content: Block[] }[] }[]).flatMap((step) =>
    step.messages.flatMap((message) => message.content),
  );
}

async function eventTypes(runId: string): Promise<string[]> {
  const { body } = await installation.call('GET', `/agent/runs/${runId}/timeline`);
  return (body.events as { event_type: string }[]).map((event) => event.event_type);
}

async function upload(runId: string, filename: string, content: string): Promise<{ attachment_id: string }> {
  const { body } = await installation.call('POST', `/agent/runs/${runId}/attachments/prepare`, {
    files: [{ filename, mime_type: 'text/plain' }],
  });
  const [{ attachment_id, upload_url }] = body.attachments as [{ attachment_id: string; upload_url: string }];
  expect((await fetch(upload_url, { method: 'PUT', body: content })).status).toBe(204);
  return { attachment_id };
}

describe('run lifecycle', { timeout: 120_000 }, () => {
  it('records edits and commands of a run as conversation blocks, and stores its timeline and transcript', async () => {
    const prompt = [
      'Prepare the file.',
      fence('write path=notes.txt', 'one'),
      sh('ls missing-file'),
      sh('cat notes.txt'),
    ].join('\n');
    const runId = await installation.createRun(prompt);
    const run = await installation.waitFor(runId, ENDED);
    expect(run).toMatchObject({
      state: 'SUCCEEDED',
      title: 'Prepare the file.',
      source: 'API',
      execution_location: 'REMOTE',
      is_sandbox_running: true,
    });
    expect(run.run_time).toMatch(/^PT/);

    const blocks = await blocksOf(runId);
    const actions = blocks.filter((block) => block.type === 'action');
    const results = blocks.filter((block) => block.type === 'action_result');
    expect(actions.map(({ name, category }) => [name, category])).toEqual([
      ['edit_files', 'files'],
      ['run_command', 'command'],
      ['run_command', 'command'],
    ]);
    expect(results.map(({ name, state }) => [name, state])).toEqual([
      ['edit_files', 'completed'],
      ['run_command', 'failed'],
      ['run_command', 'completed'],
    ]);
    expect(results.map((result) => result.action_id)).toEqual(actions.map((action) => action.id));
    expect(results[2]).toMatchObject({ output: { exit_code: 0, output: expect.stringContaining('one') } });
    expect(actions[0]).toMatchObject({ input: { paths: ['notes.txt'] } });

    expect(await eventTypes(runId)).toEqual([
      'run_created',
      'run_claimed',
      'sandbox_ready',
      'session_started',
      'agent_started',
      'workspace_snapshot',
      'run_done',
    ]);

    const link = await installation.call('GET', `/agent/runs/${runId}/transcript`);
    expect(link.status).toBe(302);
    const transcript = await (await fetch(link.headers.get('location') ?? '')).text();
    const lines = transcript
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string });
    expect(lines[0]).toMatchObject({ type: 'session' });
    expect(lines.filter((line) => line.type === 'prompt')).toHaveLength(1);
  });

  it('closes the session of a run without idle time after its turn, and continues it in a new execution', async () => {
    const runId = await installation.createRun(sh('echo one'), { config: { idle_timeout_minutes: 0 } });
    await installation.waitFor(runId, ENDED);
    const isClosed = async () =>
      (await installation.call('GET', `/agent/runs/${runId}`)).body.is_sandbox_running === false;
    await until(isClosed, 20_000);
    expect((await eventTypes(runId)).slice(-2)).toEqual(['run_done', 'sandbox_shutdown']);
    const followUp = await installation.call('POST', `/agent/runs/${runId}/followups`, { message: sh('echo two') });
    expect(followUp.body.outcome).toBe('handoff_execution');
    const run = await installation.waitFor(runId, ENDED);
    expect(run.state).toBe('SUCCEEDED');
    expect((await blocksOf(runId)).filter((block) => block.type === 'action')).toHaveLength(2);
  });

  it('fails a run whose set-up command fails, skips the following commands and rejects a follow-up with 400', async () => {
    const config = {
      name: 'broken',
      setup_commands: ['echo first > made', 'cat made; echo trouble >&2; exit 7', 'echo never'],
    };
    const environment = await installation.call('POST', '/environments', { config });
    const runId = await installation.createRun(sh('echo never'), { config: { environment_id: environment.body.uid } });
    const run = await installation.waitFor(runId, ENDED);
    expect(run).toMatchObject({
      state: 'FAILED',
      status_message: { error_code: 'environment_setup_failed', message: expect.stringContaining('trouble') },
    });
    const { body } = await installation.call('GET', `/agent/runs/${runId}/timeline`);
    const finished = body.events.filter(
      (event: { event_type: string }) => event.event_type === 'setup_command_finished',
    );
    expect(
      finished.map((event: { payload: { index: number; exit_code: number } }) => [
        event.payload.index,
        event.payload.exit_code,
      ]),
    ).toEqual([
      [0, 0],
      [1, 7],
    ]);
    expect(finished[1].payload).toMatchObject({
      command: config.setup_commands[1],
      output: 'first\ntrouble\n',
      duration_ms: expect.any(Number),
    });
    expect(body.events.at(-2)).toMatchObject({ event_type: 'run_failed' });
    const { body: listed } = await installation.call('GET', '/agent/environments');
    expect(listed.environments.find((item: { uid: string }) => item.uid === environment.body.uid)).toMatchObject({
      setup_failed: true,
    });
    expect((await installation.call('GET', `/agent/runs/${runId}/conversation`)).status).toBe(404);
    expect((await installation.call('GET', `/agent/runs/${runId}/transcript`)).status).toBe(404);
    const follow = await installation.call('POST', `/agent/runs/${runId}/followups`, { message: 'again' });
    expect([follow.status, follow.body.error_code]).toEqual([400, 'invalid_request']);
  });

  it('continues a run in the open session, and in a new execution after the session has ended', async () => {
    const first = await installation.createRun(sh('echo first turn'));
    await installation.waitFor(first, ['SUCCEEDED']);
    const live = await installation.call('POST', `/agent/runs/${first}/followups`, {
      message: sh('echo second turn; cat "$HEADRACE_ATTACHMENTS_DIR/live.txt"'),
      attachments: [await upload(first, 'live.txt', 'file of the open session')],
    });
    expect(live.body).toMatchObject({ outcome: 'live_session', followup_id: expect.any(String) });
    await until(
      async () => (await blocksOf(first)).some((block) => JSON.stringify(block.output ?? '').includes('second turn')),
      20_000,
      'the second turn',
    );
    await installation.waitFor(first, ['SUCCEEDED']);

    // Only one idle session is allowed, so the session of the next run ends this one.
    const other = await installation.createRun(sh('echo other'));
    await installation.waitFor(other, ['SUCCEEDED']);
    await until(
      async () => (await installation.run(first)).is_sandbox_running === false,
      20_000,
      'the end of the idle session',
    );
    const handoff = await installation.call('POST', `/agent/runs/${first}/followups`, {
      message: sh('echo third turn; cd "$HEADRACE_ATTACHMENTS_DIR"; cat later.txt live.txt'),
      attachments: [await upload(first, 'later.txt', 'file of the new session, ')],
    });
    expect(handoff.body.outcome).toBe('handoff_execution');
    await until(
      async () => (await blocksOf(first)).some((block) => JSON.stringify(block.output ?? '').includes('third turn')),
      30_000,
      'the third turn',
    );
    expect(await installation.waitFor(first, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
    const blocks = await blocksOf(first);
    expect(blocks.filter((block) => block.type === 'action')).toHaveLength(3);
    expect(JSON.stringify(blocks)).toContain('turn 3 of this session');
    expect(blocks.map(({ output }) => JSON.stringify(output ?? '')).join()).toMatch(
      /file of the open session.*file of the new session, file of the open session/,
    );
    expect((await eventTypes(first)).filter((type) => type === 'run_claimed')).toHaveLength(2);
  });

  it('blocks an interactive run until its permission request is allowed or denied', async () => {
    for (const decision of ['allow', 'deny'] as const) {
      const runId = await installation.createRun(
        [fence('ask title=Write the file', ''), fence('write path=asked.txt', 'x'), sh('ls')].join('\n'),
        { interactive: true },
      );
      await installation.waitFor(runId, ['BLOCKED']);
      const { body } = await installation.call('GET', `/agent/runs/${runId}/approvals`);
      expect(body.approvals).toHaveLength(1);
      expect(body.approvals[0]).toMatchObject({ state: 'pending', run_id: runId });
      const decided = await installation.call(
        'POST',
        `/agent/runs/${runId}/approvals/${body.approvals[0].approval_id}`,
        { decision, note: 'as agreed' },
      );
      expect(decided.body).toMatchObject({
        state: decision === 'allow' ? 'allowed' : 'denied',
        decided_via: 'user',
        note: 'as agreed',
      });
      expect(await installation.waitFor(runId, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
      const results = (await blocksOf(runId)).filter((block) => block.type === 'action_result');
      expect(results[0]?.state).toBe(decision === 'allow' ? 'completed' : 'denied');
      expect(JSON.stringify(results[1]?.output).includes('asked.txt')).toBe(decision === 'allow');
      const types = await eventTypes(runId);
      expect(types).toContain('run_blocked');
      expect(types).toContain('permission_decided');
    }
  });

  it('decides the permission requests of a non-interactive run by policy and records the decision', async () => {
    const runId = await installation.createRun(
      [fence('ask title=Write the file', ''), fence('write path=asked.txt', 'x')].join('\n'),
    );
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
    const events = (await blocksOf(runId)).filter((block) => block.type === 'event');
    expect(events.map((event) => event.name)).toContain('permission_decision');
    expect(JSON.stringify(events)).toContain('"by":"policy"');
  });

  it('stops all processes of a cancelled run within five seconds, including a grandchild in a separate session', async () => {
    const witness = new Witness();
    const grandchild = `setsid sh -c 'trap "" TERM; ${witness.script(60).replaceAll("'", '"')}' & sleep 60`;
    const runId = await installation.createRun(sh(grandchild));
    await until(() => witness.spans()[0], 20_000, 'the start of the grandchild');
    const runner = await until(
      () =>
        runnersOf(server.child.pid ?? 0).find(({ pid }) =>
          descendants(pid).some(({ argv }) => argv.join(' ').includes(witness.file)),
        ),
      5000,
      'a runner with the grandchild',
    );
    const tree = [...descendants(runner.pid), { pid: witness.spans()[0]?.pid ?? 0 }];
    const cancelledAt = performance.now();
    const cancel = await installation.call('POST', `/agent/runs/${runId}/cancel`);
    expect([cancel.status, cancel.body]).toEqual([200, runId]);
    expect((await installation.run(runId)).state).toBe('CANCELLED');
    await until(() => tree.every(({ pid }) => !isAlive(pid)), 5000, 'the end of all processes of the run');
    expect(performance.now() - cancelledAt).toBeLessThan(5000);
    await until(
      async () => (await installation.run(runId)).is_sandbox_running === false,
      5000,
      'the end of the execution',
    );
    const again = await installation.call('POST', `/agent/runs/${runId}/cancel`);
    expect([again.status, again.body.error_code]).toEqual([400, 'invalid_request']);
    witness.remove();
  });

  it('fails a run with agent_process_failed when the harness is not installed or the agent ends unexpectedly', async () => {
    const missing = await installation.createRun('hello', { config: { harness: { type: 'gemini' } } });
    expect(await installation.waitFor(missing, ENDED)).toMatchObject({
      state: 'FAILED',
      status_message: { error_code: 'agent_process_failed', message: expect.stringContaining('npm install -g') },
    });
    const dying = await installation.createRun(fence('fail out of order', ''));
    expect(await installation.waitFor(dying, ENDED)).toMatchObject({
      state: 'FAILED',
      status_message: { error_code: 'agent_process_failed' },
    });
  });

  it('executes at most MAX_CONCURRENT_RUNS runs at once and returns at_capacity when the limit is reached', async () => {
    const witness = new Witness();
    const created = await Promise.all(
      Array.from({ length: 6 }, () => installation.call('POST', '/agent/runs', { prompt: sh(witness.script(1)) })),
    );
    const late = await until(
      async () => {
        const answer = await installation.call('POST', '/agent/runs', { prompt: sh('true') });
        created.push(answer);
        return answer.body.at_capacity === true && answer;
      },
      5000,
      'a response with at_capacity',
    );
    expect(late.status).toBe(200);
    for (const { body } of created)
      expect((await installation.waitFor(body.run_id as string, ENDED)).state).toBe('SUCCEEDED');
    const spans = witness.spans();
    expect(spans).toHaveLength(6);
    for (const { from } of spans)
      expect(spans.filter((other) => other.from <= from && from < other.to).length).toBeLessThanOrEqual(2);
    witness.remove();
  });

  it('writes no secret to the log', () => {
    const { token, service_account_token } = installation.connection;
    for (const secret of [token, service_account_token]) expect(server.text).not.toContain(secret);
    expect(server.text).not.toMatch(/hrx_\d/);
    expect(readFileSync(`${installation.dataDir}/connection.json`, 'utf8')).toContain(token);
  });
});
