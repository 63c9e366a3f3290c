import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { headrace } from '../support/command-line.js';
import { Installation, processes, type Program, until } from '../support/installation.js';
import { createScriptedHarness } from '../support/scripted-harness.js';

const sh = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;

let installation: Installation;
let server: Program;
let directory: string;

beforeAll(async () => {
  const harness = createScriptedHarness();
  ({ directory } = harness);
  installation = await Installation.create({
    HARNESSES_FILE: harness.file,
    MAX_CONCURRENT_RUNS: '2',
    MAX_CONCURRENT_RUNS_PER_TEAM: '2',
    INTERRUPT_TIMEOUT: '1s',
    CANCEL_ESCALATION_DELAY: '500ms',
  });
  server = await installation.up();
  vi.stubEnv('HEADRACE_URL', new URL(installation.connection.base_url).origin);
  vi.stubEnv('HEADRACE_TOKEN', installation.connection.token);
  vi.stubEnv('HEADRACE_DATA_DIR', join(directory, 'no-installation'));
  vi.stubEnv('XDG_CONFIG_HOME', join(directory, 'config'));
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await server.stopCleanly('SIGINT');
  installation.remove();
  rmSync(directory, { recursive: true, force: true });
});

const conversationText = async (runId: string): Promise<string> =>
  JSON.stringify((await installation.call('GET', `/agent/runs/${runId}/conversation`)).body);
const untilShown = (runId: string, text: string): Promise<unknown> =>
  until(async () => (await conversationText(runId)).includes(text), 30_000, `"${text}" in the conversation`);
async function eventTypes(runId: string): Promise<string[]> {
  const { body } = await installation.call('GET', `/agent/runs/${runId}/timeline`);
  return (body.events as { event_type: string }[]).map(({ event_type: type }) => type);
}
const sleepers = (seconds: string) => processes().filter(({ argv }) => argv.join(' ') === `sleep ${seconds}`);

describe('an interrupt', { timeout: 90_000 }, () => {
  it('stops the command of a running turn, and a follow-up continues in the same session and workspace', async () => {
    const runId = await installation.createRun(
      sh('echo kept > file.txt; echo the command is running; exec sleep 4719'),
    );
    await untilShown(runId, 'the command is running\\n');
    const { session_id: sessionId, conversation_id: conversationId } = await installation.run(runId);
    const interrupt = await installation.call('POST', `/agent/runs/${runId}/interrupt`);
    expect(interrupt).toMatchObject({ status: 202, body: {} });
    expect(await installation.waitFor(runId, ['SUCCEEDED'])).toMatchObject({
      is_sandbox_running: true,
      session_id: sessionId,
      status_message: { message: 'The last turn was interrupted.' },
    });
    expect(sleepers('4719')).toEqual([]);
    const followUp = await installation.call('POST', `/agent/runs/${runId}/followups`, {
      message: sh('echo "the file is $(cat file.txt)"'),
    });
    expect(followUp.body.outcome).toBe('live_session');
    await untilShown(runId, 'the file is kept\\n');
    expect(await installation.waitFor(runId, ['SUCCEEDED'])).toMatchObject({
      session_id: sessionId,
      conversation_id: conversationId,
    });
    const types = await eventTypes(runId);
    expect(types.filter((type) => /^(?:session_started|agent_started|sandbox_shutdown)$/.test(type))).toEqual([
      'session_started',
      'agent_started',
    ]);
    expect(types.filter((type) => /interrupt|run_done|followup/.test(type))).toEqual([
      'interrupt_requested',
      'run_interrupted',
      'run_done',
      'followup_received',
      'run_done',
    ]);
  });

  it('from the command line is followed by the message that waited', async () => {
    const runId = await installation.createRun(sh('echo the command is running; exec sleep 4720'));
    await untilShown(runId, 'the command is running\\n');
    await installation.call('POST', `/agent/runs/${runId}/followups`, { message: sh('echo the message has arrived') });
    const { output } = await headrace(0, 'run', 'interrupt', runId);
    expect(output).toBe(`The current turn of run ${runId} is being interrupted.\n`);
    expect((await headrace(0, 'run', 'follow', runId)).output).toContain('the message has arrived');
    expect((await installation.run(runId)).state).toBe('SUCCEEDED');
    expect((await headrace(1, 'run', 'interrupt', runId)).errors).toContain('SUCCEEDED');
  });

  it('of a conversation withdraws a pending permission request', async () => {
    const ask = { ask: { title: 'Push', kind: 'execute', input: { command: 'git push' } } };
    const runId = await installation.createRun(JSON.stringify([ask]), {
      config: { harness: { type: 'scripted' } },
      interactive: true,
    });
    const { conversation_id: id } = await installation.waitFor(runId, ['BLOCKED']);
    const answer = await installation.call('POST', `/agent/conversations/${id}/interrupt`);
    expect(answer).toMatchObject({ status: 202, body: { run_id: runId } });
    await installation.waitFor(runId, ['SUCCEEDED']);
    expect(await conversationText(runId)).not.toContain('Push |');
    const { body } = await installation.call('GET', `/agent/runs/${runId}/approvals`);
    expect(body.approvals).toMatchObject([{ state: 'denied', decided_via: 'cancel' }]);
    expect((await eventTypes(runId)).filter((type) => type === 'permission_decided')).toHaveLength(1);
  });

  it('that the agent does not answer ends the execution, and the run says so', async () => {
    const runId = await installation.createRun(JSON.stringify([{ say: 'working' }, { hang: true }]), {
      config: { harness: { type: 'scripted' } },
    });
    await untilShown(runId, 'working');
    expect((await installation.call('POST', `/agent/runs/${runId}/interrupt`)).status).toBe(202);
    expect(await installation.waitFor(runId, ['FAILED'])).toMatchObject({
      status_message: {
        error_code: 'agent_process_failed',
        message: 'The agent did not end its turn within 1 s of an interrupt, and was stopped.',
      },
    });
    await until(
      async () => (await eventTypes(runId)).at(-1) === 'sandbox_shutdown',
      20_000,
      'the end of the execution',
    );
    expect((await eventTypes(runId)).slice(-5)).toEqual([
      'interrupt_requested',
      'workspace_snapshot',
      'interrupt_failed',
      'run_failed',
      'sandbox_shutdown',
    ]);
  });
});

describe('a rerun', { timeout: 90_000 }, () => {
  it('executes the input of an ended run again, with what the command line replaces', async () => {
    const source = await installation.createRun(sh('cat $HEADRACE_ATTACHMENTS_DIR/a.txt'), {
      metadata: { ticket: '7' },
      attachments: [
        { file_name: 'a.txt', mime_type: 'text/plain', data: Buffer.from('attached text').toString('base64') },
      ],
    });
    await installation.waitFor(source, ['SUCCEEDED']);
    const { output } = await headrace(0, 'run', 'rerun', source, '--title', 'Again');
    const runId = output.trim();
    expect(await installation.waitFor(runId, ['SUCCEEDED'])).toMatchObject({
      rerun_of: source,
      title: 'Again',
      metadata: { ticket: '7' },
    });
    expect(await conversationText(runId)).toContain('attached text');
    expect((await headrace(0, 'run', 'get', runId)).output).toContain(source);
    const { body } = await installation.call('GET', `/agent/runs?rerun_of=${source}`);
    expect(body.runs).toMatchObject([{ run_id: runId }]);
  });
});
