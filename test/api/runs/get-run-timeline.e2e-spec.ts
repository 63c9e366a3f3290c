import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem } from '../../support/api-requests.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

const build = (shape: Omit<Parameters<ApiFixture['runs']['build']>[0], 'by'> = {}) =>
  fixture.runs.build({ by: fixture.member, team: fixture.team, ...shape });
const timeline = (status: number, runId: string, query = '') =>
  fixture.request(status, `GET /agent/runs/${runId}/timeline?${query}`, { token: fixture.member.token });

interface TimelineEvent {
  event_uuid: string;
  event_type: string;
  occurred_at: string;
  execution_id?: number;
}

describe('the timeline', () => {
  it('contains set-up and lifecycle, oldest first, without the conversation', async () => {
    const { id, executionId } = await build({ state: 'SUCCEEDED' });
    const { body } = await timeline(200, id);
    const events = body.events as TimelineEvent[];
    expect(events.map(({ event_type }) => event_type)).toEqual([
      'run_created',
      'run_claimed',
      'sandbox_ready',
      'session_started',
      'agent_started',
      'run_done',
      'sandbox_shutdown',
    ]);
    expect(events.map(({ occurred_at }) => occurred_at)).toEqual(events.map(({ occurred_at }) => occurred_at).sort());
    expect(events[0]).not.toHaveProperty('execution_id');
    expect(new Set(events.slice(1).map(({ execution_id }) => execution_id))).toEqual(new Set([Number(executionId)]));
    expect(body).not.toHaveProperty('page_info');
  });

  it('contains the reason of a failed set-up for each command', async () => {
    const { id } = await build({ state: 'FAILED' });
    const { body } = await timeline(200, id);
    expect(body.events).toContainEqual(
      expect.objectContaining({
        event_type: 'setup_command_finished',
        payload: { index: 0, command: 'npm ci', exit_code: 1, duration_ms: 700, output: 'npm error' },
      }),
    );
    expect(body.events).toContainEqual(
      expect.objectContaining({
        event_type: 'run_failed',
        payload: expect.objectContaining({ error_code: 'environment_setup_failed' }),
      }),
    );
  });

  it('contains who cancelled the run and the follow-ups after it', async () => {
    const { id } = await build({ state: 'INPROGRESS' });
    await fixture.request(200, `POST /agent/runs/${id}/cancel`, { token: fixture.member.token });
    await fixture.request(200, `POST /agent/runs/${id}/followups`, {
      token: fixture.member.token,
      body: { message: 'Continue after all.' },
    });
    const [cancelled, followup] = (await timeline(200, id)).body.events.slice(-2);
    expect(cancelled).toMatchObject({
      event_type: 'run_cancelled',
      payload: { principal: { type: 'user', uid: fixture.member.uid } },
    });
    expect(followup).toMatchObject({
      event_type: 'followup_received',
      payload: { outcome: 'handoff_execution', author: { uid: fixture.member.uid } },
    });
  });

  it('masks values with the format of a secret', async () => {
    const { id, executionId } = await build({ state: 'CLAIMED' });
    await fixture.database.query(
      `INSERT INTO run_events (run_id, seq, execution_id, kind, at, data) VALUES ($1, 90, $2, 'setup_command_finished', headrace.now(), $3)`,
      [
        id,
        executionId,
        JSON.stringify({
          command: 'git clone https://me:tell-nobody@git.test/x',
          env: { A: 'tell-nobody' },
          api_key: 'tell-nobody',
        }),
      ],
    );
    const { text, body } = await timeline(200, id);
    expect(text).not.toContain('tell-nobody');
    expect(body.events.at(-1).payload).toEqual({
      command: 'git clone https://***@git.test/x',
      env: { A: '***' },
      api_key: '***',
    });
  });
});

describe('pages', () => {
  it('of any size contain every event once, with stable ids', async () => {
    const { id } = await build({ state: 'SUCCEEDED' });
    const whole = (await timeline(200, id)).body.events;
    for (const limit of [1, 2, 3, 7, 1000]) {
      const events: TimelineEvent[] = [];
      let pages = 0;
      for (let cursor: string | undefined = ''; cursor !== undefined; pages += 1) {
        const { body } = await timeline(
          200,
          id,
          `limit=${limit}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
        );
        events.push(...body.events);
        cursor = body.page_info?.next_cursor as string | undefined;
        if (cursor !== undefined) expect(body.page_info.has_next_page).toBe(true);
      }
      expect(events).toEqual(whole);
      expect(pages).toBe(Math.ceil(whole.length / limit));
    }
    expect(new Set(whole.map(({ event_uuid }: TimelineEvent) => event_uuid)).size).toBe(whole.length);
  });

  it('continue with events that were added later', async () => {
    const { id } = await build({ state: 'INPROGRESS' });
    const first = (await timeline(200, id, 'limit=4')).body;
    await fixture.request(200, `POST /agent/runs/${id}/cancel`, { token: fixture.member.token });
    const rest = (await timeline(200, id, `limit=4&cursor=${encodeURIComponent(first.page_info.next_cursor)}`)).body;
    expect([...first.events, ...rest.events].map(({ event_type }) => event_type)).toEqual([
      'run_created',
      'run_claimed',
      'sandbox_ready',
      'session_started',
      'agent_started',
      'run_cancelled',
    ]);
  });

  it('reject the cursor of another run, or a forged one', async () => {
    const [one, two] = [await build({ state: 'SUCCEEDED' }), await build({ state: 'SUCCEEDED' })];
    const cursor = encodeURIComponent((await timeline(200, one.id, 'limit=1')).body.page_info.next_cursor);
    const listed = (await fixture.request(200, 'GET /agent/runs?limit=1', { token: fixture.member.token })).body
      .page_info.next_cursor as string;
    const error = [{ pointer: '/cursor', detail: 'is not a cursor of this timeline' }];
    for (const [id, query] of [
      [two.id, cursor],
      [one.id, 'nonsense'],
      [one.id, encodeURIComponent(listed)],
    ]) {
      expectProblem(fixture.api, await timeline(400, id ?? '', `cursor=${query}`), 'invalid_request', error);
    }
  });

  it.each([
    ['limit=0', '/limit', 'must be an integer between 1 and 1000'],
    ['limit=1001', '/limit', 'must be an integer between 1 and 1000'],
    ['limit=x', '/limit', 'must be an integer between 1 and 1000'],
    ['cursor=', '/cursor', 'must not be blank'],
    ['after=1', '/after', 'is not a known field'],
  ])('reject %s with 400', async (query, pointer, detail) => {
    const { id } = await build();
    expectProblem(fixture.api, await timeline(400, id, query), 'invalid_request', [{ pointer, detail }]);
  });
});
