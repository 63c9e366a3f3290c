import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi, type TestPrincipal, TestRunner } from '#testing';

let api: TestApi;
let team: string;
let member: TestPrincipal;

beforeAll(async () => {
  api = await startTestApi();
  team = await api.identities.team();
  member = await api.identities.user({ [team]: 'member' });
});
afterAll(() => api.close());

async function createRun(prompt = 'Fix it'): Promise<string> {
  const { body } = await api.request(200, 'POST /agent/runs', { token: member.token, body: { prompt } });
  return body.run_id;
}

const read = async (runId: string, token = member.token) =>
  (await api.request(200, `GET /agent/runs/${runId}/conversation`, { token })).body;
const foldsOf = (runId: string) =>
  api.database.query<{ turn: number; upto_seq: string; format_version: number }>(
    'SELECT turn, upto_seq, format_version FROM conversation_folds WHERE run_id = $1 ORDER BY format_version, turn',
    [runId],
  );

/** A run whose first turn has ended: set-up, one command. */
async function oneTurn(): Promise<{ runId: string; runner: TestRunner }> {
  const runId = await createRun();
  const runner = await TestRunner.take(api, runId);
  await runner.startAgent();
  await runner.report(
    ['turn_started', { turn_id: 't1', prompt: 'Fix it' }],
    ['message_chunk', { message_id: 'm1', text: 'On it.' }],
    [
      'tool_call',
      {
        tool_call_id: 'c1',
        tool_kind: 'execute',
        status: 'completed',
        input: { command: 'make' },
        output: { output: 'ok', exit_code: 0 },
      },
    ],
    ['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }],
  );
  return { runId, runner };
}

describe('getRunConversation', () => {
  it('rule 4 and error table, 404: no conversation until the agent has a session, then 200 and growing, with results that change in place', async () => {
    const runId = await createRun();
    const early = await api.request(404, `GET /agent/runs/${runId}/conversation`, { token: member.token });
    expect(early.body).toMatchObject({
      error_code: 'resource_not_found',
      detail: expect.stringContaining('no conversation'),
    });

    const runner = await TestRunner.take(api, runId);
    await runner.startAgent();
    expect((await read(runId)).steps).toMatchObject([
      { description: 'Setup', messages: [{ role: 'system' }], steps: [] },
    ]);

    const command = { tool_call_id: 'c1', tool_kind: 'execute', input: { command: 'make' } };
    await runner.report(
      ['turn_started', { turn_id: 't1', prompt: 'Fix it' }],
      ['message_chunk', { message_id: 'm1', text: 'Run' }],
      ['message_chunk', { message_id: 'm1', text: 'ning.' }],
      ['tool_call', { ...command, status: 'in_progress' }],
    );
    const action = { type: 'action', id: 'c1', category: 'command', name: 'run_command', input: { command: 'make' } };
    const result = { type: 'action_result', action_id: 'c1', category: 'command', name: 'run_command' };
    const during = await read(runId);
    expect(during.steps[1]).not.toHaveProperty('completed_at');
    expect(during.steps[1]).toEqual({
      id: 't1',
      description: 'Fix it',
      started_at: expect.stringMatching(/Z$/),
      messages: [
        {
          role: 'user',
          content: [{ type: 'text', text: 'Fix it', message_id: 't1' }],
          message_ids: ['t1'],
          timestamp: expect.any(String),
        },
        {
          role: 'assistant',
          content: [{ type: 'text', text: 'Running.', message_id: 'm1' }, action],
          message_ids: ['m1'],
          timestamp: expect.any(String),
        },
        {
          role: 'tool',
          content: [{ ...result, state: 'running', output: { output: '' } }],
          timestamp: expect.any(String),
        },
      ],
      steps: [],
    });

    await runner.report(
      ['tool_call', { tool_call_id: 'c1', status: 'failed', output: { output: 'no rule', exit_code: 2 } }],
      ['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }],
    );
    const after = await read(runId);
    expect(after.conversation_id).toBe(during.conversation_id);
    expect(after.steps[1].messages[2].content).toEqual([
      { ...result, state: 'failed', output: { output: 'no rule', exit_code: 2 } },
    ]);
    expect(after.steps[1].messages.at(-1)).toMatchObject({
      role: 'system',
      content: [{ name: 'lifecycle', data: { events: [{ event_type: 'run_done' }] } }],
    });
    expect(after.steps[1]).toHaveProperty('completed_at');
  });

  it('shows a permission request while it is pending, and its decision', async () => {
    const runId = await createRun();
    const runner = await TestRunner.take(api, runId);
    await runner.startAgent();
    await runner.report(
      ['turn_started', { turn_id: 't1', prompt: 'Deploy' }],
      ['tool_call', { tool_call_id: 'c1', tool_kind: 'execute', status: 'pending', input: { command: 'make deploy' } }],
      [
        'permission_requested',
        {
          approval_id: 'a1',
          tool_call_id: 'c1',
          title: 'make deploy',
          options: [{ option_id: 'y', name: 'Allow', kind: 'allow_once' }],
          ask: true,
        },
      ],
    );
    await api.request(200, `POST /agent/runs/${runId}/approvals/a1`, {
      token: member.token,
      body: { decision: 'deny', note: 'not on Fridays' },
    });
    await runner.report(
      ['tool_call', { tool_call_id: 'c1', status: 'failed' }],
      ['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }],
    );
    const blocks = (await read(runId)).steps[1].messages.flatMap((message: { content: object[] }) => message.content);
    expect(blocks).toMatchObject([
      { type: 'text' },
      { type: 'action', name: 'run_command' },
      { type: 'action_result', state: 'denied' },
      { type: 'event', name: 'permission_request', data: { approval_id: 'a1', action_id: 'c1', title: 'make deploy' } },
      { type: 'event', name: 'lifecycle', data: { events: [{ event_type: 'run_blocked' }] } },
      {
        type: 'event',
        name: 'permission_decision',
        data: {
          approval_id: 'a1',
          decision: 'deny',
          by: 'user',
          note: 'not on Fridays',
          principal: { type: 'user', uid: member.uid },
        },
      },
      { type: 'event', name: 'lifecycle', data: { events: [{ event_type: 'run_done' }] } },
    ]);
  });

  it('continues with a follow-up in the same session, and in a new execution', async () => {
    const { runId, runner } = await oneTurn();
    const followUp = async (message: string): Promise<string> =>
      (await api.request(200, `POST /agent/runs/${runId}/followups`, { token: member.token, body: { message } })).body
        .followup_id;
    const second = await followUp('And now?');
    await runner.report(
      ['turn_started', { turn_id: 't2', prompt: 'And now?', followup_id: second }],
      ['turn_ended', { turn_id: 't2', stop_reason: 'end_turn' }],
    );
    await runner.finish();
    const third = await followUp('Once more');
    const next = await TestRunner.take(api, runId);
    await next.startAgent('session-2');
    await next.report(['turn_started', { turn_id: 't3', prompt: 'Once more', followup_id: third }]);
    const { steps } = await read(runId);
    expect(steps.map(({ id, description }: { id: string; description: string }) => [id, description])).toEqual([
      ['setup-1', 'Setup'],
      ['t1', 'Fix it'],
      ['t2', 'And now?'],
      [expect.stringMatching(/^setup-\d+$/), 'Setup'],
      ['t3', 'Once more'],
    ]);
  });

  it('replaces binary content by its size, masks credentials, and keeps ids', async () => {
    const runId = await createRun();
    const runner = await TestRunner.take(api, runId);
    await runner.startAgent();
    await runner.report(
      ['turn_started', { turn_id: 't1', prompt: 'x' }],
      [
        'tool_call',
        {
          tool_call_id: '__proto__',
          tool_kind: 'execute',
          input: { command: 'curl https://me:hunter2@example.test' },
          output: '\uFFFD'.repeat(100),
        },
      ],
      [
        'tool_call',
        {
          tool_call_id: 'c2',
          tool_name: 'mcp__a__b',
          input: { api_key: 'hunter2' },
          output: { headers: { cookie: 'hunter2' } },
        },
      ],
    );
    const conversation = await read(runId);
    expect(conversation.steps[1].messages.slice(1, 3)).toMatchObject([
      { content: [{ id: '__proto__', input: { command: 'curl https://***@example.test' } }] },
      { content: [{ action_id: '__proto__', output: { output: '[binary data, 300 bytes]', truncated: true } }] },
    ]);
    expect(JSON.stringify(conversation)).not.toContain('hunter2');
  });

  it('400 for a blank id; rule 4: 404 for one that is none or unknown', async () => {
    await api.request(400, 'GET /agent/runs/%20/conversation', { token: member.token });
    await api.request(404, 'GET /agent/runs/nonsense/conversation', { token: member.token });
    const { body } = await api.request(404, 'GET /agent/runs/01900000-0000-7000-8000-00000000ffff/conversation', {
      token: member.token,
    });
    expect(body.error_code).toBe('resource_not_found');
  });

  it('200 for a viewer of the team; error table, 403: no permission on the conversation', async () => {
    const { runId } = await oneTurn();
    const viewer = await api.identities.user({ [team]: 'viewer' });
    const stranger = await api.identities.user({ [await api.identities.team()]: 'owner' });
    expect(await read(runId, viewer.token)).toEqual(await read(runId));
    await api.request(403, `GET /agent/runs/${runId}/conversation`, { token: stranger.token });
  });

  it('rule 4: 422 for a conversation whose format nothing here reads', async () => {
    const { runId } = await oneTurn();
    await api.database.query(`UPDATE runs SET conversation_format = 'elsewhere-v9' WHERE id = $1`, [runId]);
    const { body } = await api.request(422, `GET /agent/runs/${runId}/conversation`, { token: member.token });
    expect(body).toMatchObject({
      error_code: 'operation_not_supported',
      retryable: false,
      detail: expect.stringContaining('elsewhere-v9'),
    });
  });
});

describe('stored projections', () => {
  it('are written when a turn has ended and are used afterwards', async () => {
    const { runId, runner } = await oneTurn();
    const first = await read(runId);
    const folds = await foldsOf(runId);
    expect(folds.map(({ turn }) => turn)).toEqual([0, 1]);
    // Without the log that they were made of, only they can answer.
    await api.database.query('DELETE FROM run_events WHERE run_id = $1 AND seq <= $2', [runId, folds[1]?.upto_seq]);
    expect(await read(runId)).toEqual(first);
    await runner.report(
      ['turn_started', { turn_id: 't2', prompt: 'More' }],
      ['message_chunk', { message_id: 'm2', text: 'Yes.' }],
    );
    const later = await read(runId);
    expect(later.steps.slice(0, 2)).toEqual(first.steps);
    expect(later.steps[2]).toMatchObject({
      id: 't2',
      messages: [{ role: 'user' }, { role: 'assistant', content: [{ text: 'Yes.' }] }],
    });
    expect(await foldsOf(runId)).toEqual(folds);
  });

  it('are recomputed when their version is older', async () => {
    const { runId } = await oneTurn();
    const fresh = await read(runId);
    await api.database.query(
      `UPDATE conversation_folds SET format_version = 0, fold = '{"was": "something else"}' WHERE run_id = $1`,
      [runId],
    );
    expect(await read(runId)).toEqual(fresh);
    expect((await foldsOf(runId)).map(({ format_version }) => format_version)).toEqual([1, 1]);
  });

  it('equal the projection of the whole log with concurrent readers', async () => {
    const { runId, runner } = await oneTurn();
    const readers = async (): Promise<void> => {
      await Promise.all([read(runId), read(runId), read(runId)]);
    };
    for (let turn = 2; turn <= 8; turn += 1) {
      const id = `t${turn}`;
      const reports = (async () => {
        await runner.report(
          ['turn_started', { turn_id: id, prompt: id }],
          ['tool_call', { tool_call_id: `c${turn}`, tool_kind: 'execute', status: 'in_progress' }],
        );
        await runner.report(['turn_ended', { turn_id: id, stop_reason: 'end_turn' }]);
        // Late: the call belongs to a turn that has ended, and perhaps been stored.
        await runner.report([
          'tool_call',
          { tool_call_id: `c${turn - 1}`, status: 'completed', output: `late ${turn}` },
        ]);
      })();
      await Promise.all([reports, readers(), readers()]);
    }
    const stored = await read(runId);
    await api.database.query('DELETE FROM conversation_folds WHERE run_id = $1', [runId]);
    expect(stored).toEqual(await read(runId));
    expect(JSON.stringify(stored)).toContain('late 8');
  });
});
