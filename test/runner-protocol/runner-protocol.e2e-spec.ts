import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ExecutionTokens } from '#execution/executions';
import { startTestApi, type TestApi, type TestPrincipal, TestRunner } from '#testing';

/** The runner protocol as any runner may implement it, tested with plain HTTP. */
describe('the runner protocol', () => {
  let api: TestApi;
  let member: TestPrincipal;
  let owner: TestPrincipal;
  let tokens: ExecutionTokens;
  let runId: string;

  beforeAll(async () => {
    api = await startTestApi({
      settings: { leaseTtl: 30_000, maxOutputBytes: 65_536, maxConcurrentRunsPerTeam: 1000 },
    });
    const team = await api.identities.team();
    member = await api.identities.user({ [team]: 'member' });
    owner = await api.identities.user({ [team]: 'owner' });
    tokens = new ExecutionTokens(api.settings.secretsKey ?? '');
  });
  afterAll(() => api.close());

  beforeEach(async () => {
    const { body } = await api.request(200, 'POST /agent/runs', { token: member.token, body: { prompt: 'work' } });
    runId = body.run_id as string;
  });

  const call = (status: number, line: string, executionId: string, body?: unknown, token = tokens.mint(executionId)) =>
    api.request(status, line.replace(' ', ` /runner/v1/executions/${executionId}/`), {
      token,
      ...(body === undefined ? {} : { body }),
    });
  const stateOf = async () => (await api.request(200, `GET /agent/runs/${runId}`, { token: member.token })).body;
  const slotsHeld = async () =>
    (await api.database.query<{ held: number }>('SELECT count(*)::int AS held FROM executions WHERE slot_held'))[0]
      ?.held;
  const slotsUsed = async () =>
    (await api.database.query<{ used: number }>(`SELECT used FROM slot_pools WHERE key = 'pool:hosted'`))[0]?.used;

  it('accepts the token of the execution only', async () => {
    const { assignment } = await TestRunner.take(api, runId);
    const beat = { lease_epoch: assignment.lease_epoch };
    await call(200, 'POST beat', assignment.execution_id, beat);
    for (const token of [
      '',
      'hrx_1_x',
      tokens.mint('999999'),
      member.token,
      new ExecutionTokens('x'.repeat(32)).mint(assignment.execution_id),
    ]) {
      const { body } = await call(401, 'POST beat', assignment.execution_id, beat, token);
      expect(body.error_code).toBe('authentication_required');
    }
  });

  it('returns the same response to a repeated claim of the same runner, and rejects another runner', async () => {
    const { assignment } = await TestRunner.take(api, runId);
    const again = await call(200, 'POST claim', assignment.execution_id, { protocol_version: 1, instance_id: 'test' });
    expect(again.body).toEqual(assignment);
    const { body } = await call(412, 'POST claim', assignment.execution_id, {
      protocol_version: 1,
      instance_id: 'another',
    });
    expect(body.error_code).toBe('lease_lost');
  });

  it('ignores fields that only later versions of the protocol have, also in nested objects', async () => {
    const later = { later: { field: true } };
    const runner = await TestRunner.take(api, runId);
    const { execution_id: id, lease_epoch } = runner.assignment;
    await call(200, 'POST claim', id, { protocol_version: 1, instance_id: 'test', ...later });
    await call(200, 'POST beat', id, { lease_epoch, ...later });
    const event = { source_seq: 1, kind: 'sandbox_ready', data: {}, ...later };
    const { body } = await call(200, 'POST events', id, { lease_epoch, events: [event], ...later });
    expect(body.acked_seq).toBe(1);
    const reference = {
      source_key: 'r',
      artifact_type: 'PULL_REQUEST',
      url: 'https://example.com/pull/1',
      branch: 'b',
    };
    await call(200, 'POST artifacts', id, { lease_epoch, ...reference, ...later });
    expect((await stateOf()).artifacts).toMatchObject([{ data: { url: reference.url } }]);
    await call(400, 'POST artifacts', id, { lease_epoch, ...reference, url: 7, ...later });
    await call(200, 'POST finish', id, { lease_epoch, outcome: 'handed_back', ...later });
  });

  it('acknowledges events of kinds that only later versions have without storing them, and logs each kind once', async () => {
    const runner = await TestRunner.take(api, runId);
    await runner.startAgent();
    const { execution_id, lease_epoch } = runner.assignment;
    const send = async (status: number, first: number, ...kinds: string[]) => {
      const data = { message_id: 'm', text: 'said', later: { secret: 'swordfish' } };
      const events = kinds.map((kind, index) => ({ source_seq: first + index, kind, data }));
      return (await call(status, 'POST events', execution_id, { lease_epoch, events })).body;
    };
    const stored = () =>
      api.database.query<{ seq: string; kind: string }>(
        'SELECT seq, kind FROM run_events WHERE run_id = $1 ORDER BY seq',
        [runId],
      );
    const before = (await stored()).length;
    api.log.clear();
    const batch = ['message_chunk', 'later_kind', 'message_chunk', 'later_kind', 'latest_kind'];
    expect(await send(200, 4, ...batch)).toMatchObject({ acked_seq: 8, desired: 'run' });
    expect(await send(200, 4, ...batch)).toMatchObject({ acked_seq: 8 });
    // Alone, after a gap, and before an event that changes the run.
    expect(await send(200, 9, 'later_kind')).toMatchObject({ acked_seq: 9 });
    expect(await send(200, 11, 'later_kind')).toMatchObject({ acked_seq: 9 });
    expect(await send(200, 10, 'latest_kind', 'turn_started', 'agent_waiting')).toMatchObject({ acked_seq: 12 });
    const rows = await stored();
    expect(rows.slice(before).map(({ kind }) => kind)).toEqual([
      'message_chunk',
      'message_chunk',
      'turn_started',
      'agent_waiting',
    ]);
    expect(rows.map(({ seq }) => Number(seq))).toEqual(rows.map((_, index) => index + 1));
    expect((await stateOf()).status_message).toMatchObject({ message: 'The agent makes no progress.' });
    const warnings = api.log.lines.filter(({ level, kind }) => level === 'warn' && kind !== undefined);
    expect(warnings.map(({ kind }) => kind)).toEqual(['later_kind', 'latest_kind']);
    expect(api.log.text).not.toContain('swordfish');

    for (const kind of ['run_done', 'followup_received']) {
      expect((await send(400, 13, 'message_chunk', kind)).errors).toEqual([
        { pointer: '/events/1/kind', detail: 'is a kind of event that runners may not report' },
      ]);
    }
    for (const kind of ['', 'Later', 'a b', 'x'.repeat(65)])
      expect((await send(400, 13, kind)).errors).toMatchObject([{ pointer: '/events/0/kind' }]);
    expect(await stored()).toEqual(rows);
  });

  it('stores a batch once, in order, up to the first gap', async () => {
    const runner = await TestRunner.take(api, runId);
    await runner.startAgent();
    const { execution_id, lease_epoch } = runner.assignment;
    const event = (source_seq: number) => ({
      source_seq,
      kind: 'message_chunk',
      data: { message_id: 'm', text: `${source_seq}.` },
    });
    const send = async (...numbers: number[]) =>
      (await call(200, 'POST events', execution_id, { lease_epoch, events: numbers.map(event) })).body
        .acked_seq as number;
    expect(await send(4, 5)).toBe(5);
    expect(await send(4, 5)).toBe(5);
    expect(await send(5, 6, 8)).toBe(6);
    expect(await send(7, 8)).toBe(8);
    const stored = await api.database.query<{ text: string }>(
      `SELECT data->>'text' AS text FROM run_events WHERE run_id = $1 AND kind = 'message_chunk' ORDER BY seq`,
      [runId],
    );
    expect(stored.map((row) => row.text)).toEqual(['4.', '5.', '6.', '7.', '8.']);
  });

  it('accepts every output of an agent', async () => {
    const runner = await TestRunner.take(api, runId);
    await runner.startAgent();
    const text = 'nul \u0000 and half \ud800 of a pair';
    await runner.report(
      ['message_chunk', { message_id: 'm', text }],
      ['message_chunk', { message_id: 'm', text: 'fine' }],
    );
    const rows = await api.database.query<{ data: { text: string; sanitized?: boolean } }>(
      `SELECT data FROM run_events WHERE run_id = $1 AND kind = 'message_chunk' ORDER BY seq`,
      [runId],
    );
    expect(rows.map((row) => row.data)).toEqual([
      { message_id: 'm', text: 'nul \ufffd and half \ufffd of a pair', sanitized: true },
      { message_id: 'm', text: 'fine' },
    ]);
  });

  it.each<[string, string, object, string]>([
    ['a follow-up id that is no UUID', 'turn_started', { turn_id: 't', prompt: '', followup_id: 'odd' }, 'followup_id'],
    ['a follow-up id that is no text', 'turn_started', { turn_id: 't', prompt: '', followup_id: 7 }, 'followup_id'],
    ['an unknown stop reason', 'turn_ended', { turn_id: 't', stop_reason: 'odd' }, 'stop_reason'],
    ['no stop reason', 'turn_ended', { turn_id: 't' }, 'stop_reason'],
  ])('rejects an event with %s with 400, and stores no event of its batch', async (_what, kind, data, field) => {
    const runner = await TestRunner.take(api, runId);
    const { execution_id, lease_epoch } = runner.assignment;
    const events = [
      { source_seq: 1, kind: 'sandbox_ready', data: {} },
      { source_seq: 2, kind, data },
    ];
    const { body } = await call(400, 'POST events', execution_id, { lease_epoch, events });
    expect(body).toMatchObject({ error_code: 'invalid_request', errors: [{ pointer: `/events/1/data/${field}` }] });
    expect(JSON.stringify(body)).not.toContain('odd');
    const stored = await api.database.query(
      `SELECT 1 FROM run_events WHERE run_id = $1 AND kind = 'sandbox_ready' AND execution_id = $2`,
      [runId, execution_id],
    );
    expect(stored).toEqual([]);
  });

  it('stores at most MAX_OUTPUT_BYTES and a margin, and still changes the state of the run', async () => {
    const runner = await TestRunner.take(api, runId);
    await runner.startAgent();
    const text = 'x'.repeat(60_000);
    const chunks = Array.from({ length: 25 }, () => ['message_chunk', { message_id: 'm', text }] as const);
    await runner.report(['turn_started', { turn_id: 't', prompt: 'go' }], ...chunks);
    await runner.report(...chunks, ['tool_call', { tool_call_id: 'c', status: 'completed', content: [text] }]);
    await runner.report(['permission_requested', { approval_id: 'a', title: text, ask: false }]);
    await runner.report(['turn_ended', { turn_id: 't', stop_reason: 'end_turn' }]);
    const [stored] = await api.database.query<{ bytes: number; truncated: number; kinds: string }>(
      `SELECT sum(octet_length(data::text))::int AS bytes, count(*) FILTER (WHERE kind = 'output_truncated')::int AS truncated
         FROM run_events WHERE run_id = $1`,
      [runId],
    );
    expect(stored?.truncated).toBe(1);
    expect(stored?.bytes).toBeGreaterThan(65_536);
    expect(stored?.bytes).toBeLessThan(65_536 + 1_048_576 + 70_000);
    expect(await stateOf()).toMatchObject({ state: 'SUCCEEDED' });
    await runner.finish('closed');
  });

  it('fences a stale epoch and an abandoned execution', async () => {
    const runner = await TestRunner.take(api, runId);
    const { execution_id, lease_epoch } = runner.assignment;
    await call(412, 'POST beat', execution_id, { lease_epoch: lease_epoch + 1 });
    await call(412, 'POST events', execution_id, { lease_epoch: lease_epoch + 1, events: [] });
    await call(412, 'POST finish', execution_id, { lease_epoch: lease_epoch + 1, outcome: 'closed' });
    await call(412, `GET commands?lease_epoch=${lease_epoch + 1}&version=0`, execution_id);
    await runner.finish('handed_back');
    expect((await stateOf()).state).toBe('QUEUED');
    await call(412, 'POST beat', execution_id, { lease_epoch });
  });

  it('ends an execution once when the report is repeated', async () => {
    const runner = await TestRunner.take(api, runId);
    await runner.startAgent();
    const failed = { error_code: 'agent_process_failed', message: 'it broke' };
    await runner.finish('failed', failed);
    await runner.finish('failed', failed);
    await runner.finish('closed');
    expect(await stateOf()).toMatchObject({
      state: 'FAILED',
      status_message: { message: 'it broke', error_code: 'agent_process_failed' },
      is_sandbox_running: false,
    });
    const [row] = await api.database.query<{ endings: number }>(
      `SELECT count(*)::int AS endings FROM run_events WHERE run_id = $1 AND kind IN ('run_failed', 'sandbox_shutdown')`,
      [runId],
    );
    expect(row?.endings).toBe(2);
  });

  it('reports internal errors as errors of the platform', async () => {
    const runner = await TestRunner.take(api, runId);
    await runner.startAgent();
    await runner.finish('failed', { error_code: 'something_new', message: 'odd' });
    expect(await stateOf()).toMatchObject({
      state: 'ERROR',
      status_message: { error_code: 'internal_error', retryable: true },
    });
  });

  it('delivers prompts and stop commands by a long poll, with consistent slots', async () => {
    const runner = await TestRunner.take(api, runId);
    const { execution_id, lease_epoch } = runner.assignment;
    await runner.startAgent();
    await runner.report(
      ['turn_started', { turn_id: 't1', prompt: 'work' }],
      ['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }],
    );
    expect((await stateOf()).state).toBe('SUCCEEDED');
    expect(await slotsUsed()).toBe(await slotsHeld());
    const { body: idle } = await call(200, `GET commands?lease_epoch=${lease_epoch}&version=0`, execution_id);
    expect(idle).toMatchObject({ desired: 'run', prompts: [], decisions: [] });
    await call(204, `GET commands?lease_epoch=${lease_epoch}&version=${idle.version}&wait=0`, execution_id);

    const poll = call(200, `GET commands?lease_epoch=${lease_epoch}&version=${idle.version}&wait=20`, execution_id);
    const { body: followup } = await api.request(200, `POST /agent/runs/${runId}/followups`, {
      token: member.token,
      body: { message: 'more' },
    });
    const { body: next } = await poll;
    expect(next.prompts).toEqual([{ followup_id: followup.followup_id, message: 'more' }]);
    expect(await slotsUsed()).toBe(await slotsHeld());
    await runner.report(['turn_started', { turn_id: 't2', prompt: 'more', followup_id: followup.followup_id }]);

    const stop = call(200, `GET commands?lease_epoch=${lease_epoch}&version=${next.version}&wait=20`, execution_id);
    await api.request(200, `POST /agent/runs/${runId}/cancel`, { token: member.token });
    expect((await stop).body).toMatchObject({ desired: 'stop', desired_reason: 'cancelled', prompts: [] });
    await runner.finish('cancelled');
    expect(await stateOf()).toMatchObject({ state: 'CANCELLED', is_sandbox_running: false });
    expect(await slotsUsed()).toBe(await slotsHeld());
  });

  it('closes a permission request that arrives after the cancellation', async () => {
    const runner = await TestRunner.take(api, runId);
    await runner.startAgent();
    await api.request(200, `POST /agent/runs/${runId}/cancel`, { token: member.token });
    const options = [{ option_id: 'yes', name: 'Yes', kind: 'allow_once' }];
    await runner.report(['permission_requested', { approval_id: 'late', title: 'May I?', options, ask: true }]);
    expect((await stateOf()).state).toBe('CANCELLED');
    const { body } = await api.request(200, `GET /agent/runs/${runId}/approvals`, { token: member.token });
    expect(body.approvals).toEqual([]);
    await runner.finish('cancelled');
  });

  it('fails a run whose environment was deleted, and drops pending messages of a cancelled run', async () => {
    const { body: environment } = await api.request(201, 'POST /environments', {
      token: owner.token,
      body: { config: { name: 'soon gone' } },
    });
    const created = await api.request(200, 'POST /agent/runs', {
      token: owner.token,
      body: { prompt: 'x', config: { environment_id: environment.uid } },
    });
    await api.request(204, `DELETE /environments/${environment.uid}`, { token: owner.token });
    await expect(TestRunner.take(api, created.body.run_id as string)).rejects.toThrow('lease_lost');
    const { body: failed } = await api.request(200, `GET /agent/runs/${created.body.run_id}`, { token: owner.token });
    expect(failed).toMatchObject({ state: 'FAILED', status_message: { error_code: 'environment_setup_failed' } });

    const runner = await TestRunner.take(api, runId);
    await runner.startAgent();
    await api.request(200, `POST /agent/runs/${runId}/followups`, { token: member.token, body: { message: 'never' } });
    await api.request(200, `POST /agent/runs/${runId}/cancel`, { token: member.token });
    await runner.finish('cancelled');
    await api.request(200, `POST /agent/runs/${runId}/followups`, { token: member.token, body: { message: 'later' } });
    const second = await TestRunner.take(api, runId);
    const { execution_id, lease_epoch } = second.assignment;
    const { body: commands } = await call(200, `GET commands?lease_epoch=${lease_epoch}&version=0`, execution_id);
    expect(commands.prompts.map((prompt: { message: string }) => prompt.message)).toEqual(['later']);
    await second.finish('closed');
  });

  it('stores a transcript and sends it to the execution that resumes', async () => {
    const runner = await TestRunner.take(api, runId);
    const { execution_id, lease_epoch } = runner.assignment;
    await runner.startAgent('agent-session');
    const upload = (status: number, epoch: number, content: string) =>
      api.request(
        status,
        `PUT /runner/v1/executions/${execution_id}/transcript?lease_epoch=${epoch}&format=oz&session_id=agent-session`,
        {
          token: tokens.mint(execution_id),
          body: content,
          contentType: 'application/x-ndjson',
        },
      );
    await call(404, `GET transcript?lease_epoch=${lease_epoch}`, execution_id);
    await upload(204, lease_epoch, '{"line":1}\n');
    await upload(204, lease_epoch, '{"line":1}\n{"line":2}\n');
    await upload(412, lease_epoch + 1, 'nothing');
    await runner.report(
      ['turn_started', { turn_id: 't1', prompt: 'work' }],
      ['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }],
    );
    await runner.finish('closed');
    await api.request(200, `POST /agent/runs/${runId}/followups`, { token: member.token, body: { message: 'again' } });
    const second = await TestRunner.take(api, runId);
    expect(second.assignment).toMatchObject({
      prompt: null,
      resume: { session_id: 'agent-session', transcript: true },
    });
    const { text } = await call(
      200,
      `GET transcript?lease_epoch=${second.assignment.lease_epoch}`,
      second.assignment.execution_id,
    );
    expect(text).toBe('{"line":1}\n{"line":2}\n');
    await second.finish('closed');
  });

  it('logs no error in these tests', () => {
    expect(api.log.errors).toEqual([]);
    expect(api.log.text).not.toMatch(/hrx_\d+_/);
  });
});
