import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ObjectStore } from '#platform/storage';
import { RunBuilder, startTestApi, type TestApi, type TestPrincipal, TestRunner } from '#testing';
import { loadProgram, operationsIn, rejection, type RunningProgram } from './typed-programs.js';

interface Program {
  create(api: unknown, prompt: string): Promise<string>;
  get(api: unknown, runId: string): Promise<{ state: string; metadata?: Record<string, string> }>;
  list(api: unknown, states: string[]): Promise<string[]>;
  cancel(api: unknown, runId: string): Promise<string>;
  interrupt(api: unknown, runId: string): Promise<void>;
  interruptConversation(api: unknown, conversationId: string): Promise<string>;
  rerun(api: unknown, runId: string, modelId?: string): Promise<string>;
  fork(api: unknown, runId: string): Promise<string[]>;
  followUp(api: unknown, runId: string, message: string): Promise<string>;
  followUpConversation(api: unknown, conversationId: string, message: string): Promise<string>;
  followUpWithFile(
    api: unknown,
    runId: string,
    file: { filename: string; mime_type: string; content: string },
  ): Promise<void>;
  prepareForConversation(api: unknown, conversationId: string, filename: string): Promise<string[]>;
  hasHarnessUsage(api: unknown, runId: string): Promise<boolean>;
  timeline(api: unknown, runId: string): Promise<string[]>;
  conversation(api: unknown, runId: string): Promise<string[]>;
  inbox(api: unknown): Promise<string[]>;
  decide(api: unknown, runId: string, decision: string): Promise<{ state: string; note?: string }[]>;
  transcriptUrl(api: unknown, runId: string): Promise<string>;
  registerExternalFollowup(api: unknown, runId: string, message: string): Promise<string>;
  registerExternal(api: unknown, prompt: string): Promise<{ runId: string; executionId: string; hasToken: boolean }>;
  runAgent(api: unknown, prompt: string): Promise<string>;
}

describe('runs through the generated client', () => {
  let api: TestApi;
  let team: string;
  let member: TestPrincipal;
  let runs: RunBuilder;
  let running: RunningProgram<Program>;
  let program: Program;

  beforeAll(async () => {
    api = await startTestApi();
    team = await api.identities.team();
    member = await api.identities.user({ [team]: 'member' });
    runs = new RunBuilder(api.database, { objects: api.app.get(ObjectStore) });
    running = await loadProgram<Program>('runs', api);
    ({ program } = running);
  });
  afterAll(async () => {
    await api.close();
    running.close();
  });

  const client = (principal: TestPrincipal = member) => running.client(principal);

  it('creates, gets, lists and cancels runs, and registers an external run', async () => {
    const other = await api.identities.team();
    const somebody = await api.identities.user({ [other]: 'member' });
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) ids.push(await program.create(client(somebody), `Run ${index}.`));
    expect(await program.get(client(somebody), ids[0] ?? '')).toMatchObject({
      state: 'QUEUED',
      metadata: { by: 'program' },
    });
    expect(await program.cancel(client(somebody), ids[2] ?? '')).toBe(ids[2]);
    expect(await program.list(client(somebody), ['QUEUED'])).toEqual(ids.filter((_, index) => index !== 2));
    expect(await program.list(client(somebody), ['QUEUED', 'CANCELLED'])).toEqual(ids);
    const external = await program.registerExternal(client(somebody), 'Here.');
    expect(external).toEqual({ runId: external.runId, executionId: expect.stringMatching(/^\d+$/), hasToken: true });
    expect((await program.get(client(somebody), external.runId)).state).toBe('PENDING');
    const old = await program.runAgent(client(somebody), 'The old way.');
    expect((await program.get(client(somebody), old)).state).toBe('QUEUED');
  });

  it('interrupts a run and a conversation, and creates a rerun with and without a body', async () => {
    const { id, conversationId } = await runs.build({ by: member, team, state: 'INPROGRESS' });
    await program.interrupt(client(), id);
    expect(await program.interruptConversation(client(), conversationId ?? '')).toBe(id);
    expect((await program.timeline(client(), id)).join(' ')).toContain('interrupt_requested');
    const again = await program.rerun(client(), id);
    expect((await program.get(client(), again)).state).toBe('QUEUED');
    expect(await program.rerun(client(), id, 'another')).not.toBe(again);
  });

  it('forks a run, and reads its changes and files', async () => {
    const { id } = await runs.build({ by: member, team });
    const runner = await TestRunner.take(api, id);
    await runner.startAgent();
    await runner.snapshot();
    const forks = await program.fork(client(), id);
    expect(forks).toHaveLength(2);
    expect((await program.get(client(), forks[0] ?? '')).state).toBe('QUEUED');
  });

  it('returns the outcome of a follow-up for each state of a run', async () => {
    const build = async (state: 'QUEUED' | 'INPROGRESS' | 'SUCCEEDED' | 'CLAIMED') =>
      (await runs.build({ by: member, team, state })).id;
    expect(await program.followUp(client(), await build('QUEUED'), 'More.')).toBe('queued_prompt');
    expect(await program.followUp(client(), await build('CLAIMED'), 'More.')).toBe('queue_pending');
    expect(await program.followUp(client(), await build('INPROGRESS'), 'More.')).toBe('live_session');
    expect(await program.followUp(client(), await build('SUCCEEDED'), '')).toBe('handoff_execution');
  });

  it('creates a follow-up in a conversation', async () => {
    const { id, conversationId } = await runs.build({ by: member, team, state: 'SUCCEEDED' });
    expect(await program.followUpConversation(client(), conversationId ?? '', 'More.')).toBe(id);
    await program.followUpWithFile(client(), id, { filename: 'a.txt', mime_type: 'text/plain', content: 'text' });
    expect(await program.prepareForConversation(client(), conversationId ?? '', 'b.txt')).toHaveLength(1);
    expect(await program.hasHarnessUsage(client(), id)).toBe(false);
    const stored = await program.create(client(), 'Go.');
    const runner = await TestRunner.take(api, stored);
    await runner.startAgent();
    await runner.report(['turn_started', { turn_id: 't1', prompt: 'Go.' }]);
    await runner.snapshot();
    await runner.report(['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }]);
    await runner.finish();
    expect(await program.registerExternalFollowup(client(), stored, 'Here.')).toMatch(/^\d+$/);
  });

  it('reads all pages of a timeline, and a conversation with every type of block', async () => {
    const runId = await program.create(client(), 'Look and tell.');
    const runner = await TestRunner.take(api, runId);
    await runner.startAgent();
    await runner.report(
      ['turn_started', { turn_id: 't1', prompt: 'Look and tell.' }],
      ['thought_chunk', { message_id: 'm0', text: 'Hm.' }],
      ['message_chunk', { message_id: 'm1', text: 'I look.' }],
      [
        'tool_call',
        {
          tool_call_id: 'c1',
          tool_kind: 'execute',
          status: 'completed',
          input: { command: 'ls' },
          output: { output: 'a', exit_code: 0 },
        },
      ],
      ['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }],
    );
    await runner.finish();
    const reported = await program.timeline(client(), runId);
    expect(reported.map((line) => line.replace(/ at .*/, ''))).toEqual([
      'run_created',
      'run_claimed',
      'sandbox_ready',
      'session_started',
      'agent_started',
      'run_done',
      'sandbox_shutdown',
    ]);
    const said = await program.conversation(client(), runId);
    expect(said).toEqual(
      expect.arrayContaining([
        'user: Look and tell.',
        'assistant: I look.',
        'assistant does run_command (command)',
        'tool got completed for c1',
      ]),
    );
    expect(said.some((line) => line.endsWith('[thinking]'))).toBe(true);
  });

  it('lists pending permission requests and allows them', async () => {
    const { id } = await runs.build({ by: member, team, state: 'BLOCKED', approvals: 2, title: 'Release' });
    expect(await program.inbox(client())).toEqual(Array(2).fill('Release: Run `make deploy`'));
    expect(await program.decide(client(), id, 'allow')).toEqual([
      expect.objectContaining({ state: 'allowed', note: 'By a program.' }),
      expect.objectContaining({ state: 'allowed' }),
    ]);
    expect((await program.get(client(), id)).state).toBe('INPROGRESS');
  });

  it('downloads the transcript of a run', async () => {
    const { id } = await runs.build({ by: member, team, state: 'SUCCEEDED', transcript: '{"a":1}\n' });
    const url = await program.transcriptUrl(client(), id);
    expect(await (await fetch(url)).text()).toBe('{"a":1}\n');
  });

  it('throws the documented problem of a rejected request (generated client: runs)', async () => {
    const { id } = await runs.build({ by: member, team, state: 'SUCCEEDED' });
    const rejections: [() => Promise<unknown>, number, string][] = [
      [() => program.cancel(client(), id), 400, 'invalid_request'],
      [() => program.transcriptUrl(client(), id), 404, 'resource_not_found'],
      [() => program.list(client(), ['DONE']), 400, 'invalid_request'],
    ];
    for (const [send, status, code] of rejections) {
      const error = await rejection(send());
      expect(error).toBeInstanceOf(running.Refused);
      expect(error).toMatchObject({ problem: { status, error_code: code } });
    }
  });

  it('calls every operation that the runs program uses', () => {
    expect(running.called()).toEqual(operationsIn('runs'));
  });
});
