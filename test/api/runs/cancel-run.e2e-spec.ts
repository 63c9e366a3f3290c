import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunShape } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import {
  expectProblem,
  lockOfRun,
  requestAnyStatus,
  sendConcurrently,
  UNKNOWN_RUN_ID,
} from '../../support/api-requests.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

type Shape = Omit<RunShape, 'by'>;

const build = (shape: Shape) => fixture.runs.build({ by: fixture.member, team: fixture.team, ...shape });
const cancel = (status: number, runId: string, token = fixture.member.token) =>
  fixture.request(status, `POST /agent/runs/${runId}/cancel`, { token });
const get = async (runId: string) =>
  (await fixture.request(200, `GET /agent/runs/${runId}`, { token: fixture.member.token })).body;
const executionOf = async (runId: string) =>
  (
    await fixture.database.query(
      'SELECT phase, desired, desired_reason, slot_held, fence_at IS NOT NULL AS is_fenced FROM executions WHERE run_id = $1',
      [runId],
    )
  )[0];

/** By state and session: what a hosted run answers, and one of the kinds that the platform cannot stop. In the contract's order. */
const TABLE: readonly [Shape, hosted: number, elsewhere: number][] = [
  [{ state: 'QUEUED' }, 200, 422],
  [{ state: 'QUEUED', conversation: true }, 200, 422],
  [{ state: 'QUEUED', session: 'stopping' }, 200, 422],
  [{ state: 'PENDING' }, 409, 409],
  [{ state: 'CLAIMED' }, 200, 422],
  [{ state: 'INPROGRESS' }, 200, 422],
  [{ state: 'BLOCKED' }, 200, 422],
  [{ state: 'BLOCKED', session: 'none' }, 400, 400],
  [{ state: 'SUCCEEDED' }, 400, 400],
  [{ state: 'SUCCEEDED', session: 'idle' }, 400, 400],
  [{ state: 'FAILED' }, 400, 400],
  [{ state: 'FAILED', session: 'idle' }, 400, 400],
  [{ state: 'ERROR' }, 400, 400],
  [{ state: 'CANCELLED' }, 400, 400],
  [{ state: 'CANCELLED', session: 'stopping' }, 400, 400],
];
const KINDS = ['hosted', 'self_hosted', 'local', 'github_action'] as const;
const CODE = { 400: 'invalid_request', 409: 'conflict', 422: 'operation_not_supported' } as const;

describe('cancelRun by state and kind of run', () => {
  const cases = TABLE.flatMap(([shape, hosted, elsewhere]) =>
    KINDS.map((kind) => [{ ...shape, kind }, kind === 'hosted' ? hosted : elsewhere] as const),
  );

  it.each(cases)('responds to a run that is %o with %i', async (shape, status) => {
    const { id } = await build(shape);
    const [before, executionBefore] = [await get(id), await executionOf(id)];
    const answer = await cancel(status, id);
    if (status === 200) {
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
      expect(answer.text).toBe(JSON.stringify(id));
      expect(await get(id)).toMatchObject({
        state: 'CANCELLED',
        status_message: { message: 'Cancelled.', retryable: false },
      });
      return;
    }
    expectProblem(fixture.api, answer, CODE[status as keyof typeof CODE]);
    expect(answer.body.retryable).toBe(status === 409);
    expect(await get(id)).toEqual({
      ...before,
      ...(before.run_time === undefined ? {} : { run_time: expect.any(String) }),
    });
    expect(await executionOf(id)).toEqual(executionBefore);
  });

  it('returns 409 with Retry-After, and 400 with the state of the run', async () => {
    const pending = await cancel(409, (await build({ state: 'PENDING' })).id);
    expect(Number(pending.headers.get('retry-after'))).toBeGreaterThan(0);
    const failed = await cancel(400, (await build({ state: 'FAILED' })).id);
    expect(failed.body.detail).toContain('FAILED');
  });

  it('treats a run for the worker host `warp` as hosted', async () => {
    await cancel(200, (await build({ state: 'QUEUED', config: { worker_host: 'warp' } })).id);
  });

  it('cancels a queued hosted run, and rejects a self-hosted one', async () => {
    const create = async (config: object) =>
      (await fixture.request(200, 'POST /agent/runs', { token: fixture.member.token, body: { prompt: 'x', config } }))
        .body.run_id as string;
    await cancel(200, await create({}));
    expectProblem(
      fixture.api,
      await cancel(422, await create({ worker_host: 'build-farm-1' })),
      'operation_not_supported',
    );
  });
});

describe('a cancelled run', () => {
  it.each(['CLAIMED', 'INPROGRESS', 'BLOCKED'] as const)(
    'that is %s has its runner asked to stop and fenced at last, and holds its slot until then',
    async (state) => {
      const { id } = await build({ state });
      await cancel(200, id);
      expect(await executionOf(id)).toMatchObject({
        desired: 'stop',
        desired_reason: 'cancelled',
        slot_held: true,
        is_fenced: true,
      });
      expect((await get(id)).is_sandbox_running).toBe(true);
    },
  );

  it('that was continued and cancelled again has its first execution fenced at the original time', async () => {
    const { id, executionId } = await build({ state: 'INPROGRESS' });
    const fence = async () =>
      (await fixture.database.query('SELECT fence_at FROM executions WHERE id = $1', [executionId]))[0]
        ?.fence_at as Date;
    await cancel(200, id);
    const first = await fence();
    await fixture.request(200, `POST /agent/runs/${id}/followups`, {
      token: fixture.member.token,
      body: { message: 'Continue after all.' },
    });
    await fixture.api.advanceClock(30_000);
    await cancel(200, id);
    expect(await fence()).toEqual(first);
  });

  it('that was BLOCKED rejects decisions of its permission request', async () => {
    const { id, approvalIds } = await build({ state: 'BLOCKED' });
    await cancel(200, id);
    const answer = await fixture.request(409, `POST /agent/runs/${id}/approvals/${approvalIds[0]}`, {
      token: fixture.member.token,
      body: { decision: 'allow' },
    });
    expectProblem(fixture.api, answer, 'conflict');
    expect((await get(id)).state).toBe('CANCELLED');
  });

  it('has one event that names the caller', async () => {
    const { id } = await build({ state: 'QUEUED' });
    await cancel(200, id);
    await cancel(400, id);
    const { body } = await fixture.request(200, `GET /agent/runs/${id}/timeline`, { token: fixture.member.token });
    const reported = body.events.filter(({ event_type }: { event_type: string }) => event_type === 'run_cancelled');
    expect(reported).toEqual([
      expect.objectContaining({ payload: { principal: { type: 'user', uid: fixture.member.uid } } }),
    ]);
  });

  it('that was queued is not placed', async () => {
    const { id } = await build({ state: 'QUEUED' });
    await cancel(200, id);
    await fixture.database.query(
      `INSERT INTO slot_pools (key, used, capacity) VALUES ('pool:hosted', 0, 1000) ON CONFLICT (key) DO UPDATE SET capacity = 1000`,
    );
    const offered = await fixture.database.query<{ run_id: string }>(
      `SELECT run_id FROM place_executions(ARRAY['hosted'], ARRAY[NULL], 1000, 1000, 60000, 'test')`,
    );
    expect(offered.map(({ run_id }) => run_id)).not.toContain(id);
  });
});

describe('concurrent requests', () => {
  it.each(['QUEUED', 'INPROGRESS', 'BLOCKED'] as const)(
    'twenty requests cancel a %s run, and one succeeds',
    async (state) => {
      const { id } = await build({ state });
      const answers = await sendConcurrently(fixture.api, lockOfRun(id), () =>
        Array.from({ length: 20 }, () =>
          requestAnyStatus(fixture.api, `POST /agent/runs/${id}/cancel`, { token: fixture.member.token }),
        ),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(19).fill(400)]);
      expect(fixture.api.log.errors).toEqual([]);
    },
  );

  it('a cancellation beside a placement cancels the run or is rejected because it is PENDING', async () => {
    const ids = await Promise.all(Array.from({ length: 10 }, async () => (await build({ state: 'QUEUED' })).id));
    const placed = fixture.database.query(
      `SELECT execution_id FROM place_executions(ARRAY['hosted'], ARRAY[NULL], 1000, 1000, 60000, 'test')`,
    );
    const answers = await Promise.all(
      ids.map((id) => requestAnyStatus(fixture.api, `POST /agent/runs/${id}/cancel`, { token: fixture.member.token })),
    );
    await placed;
    for (const [index, id] of ids.entries()) {
      const { state, is_sandbox_running } = await get(id);
      expect([answers[index]?.status, state, is_sandbox_running]).toEqual(
        answers[index]?.status === 200 ? [200, 'CANCELLED', false] : [409, 'PENDING', true],
      );
    }
  });
});

describe('authorization to cancel', () => {
  it('allows a member, a service account of the team, and the owner of a personal run', async () => {
    const bot = await fixture.api.identities.serviceAccount(fixture.team);
    await cancel(200, (await build({ state: 'QUEUED' })).id, bot.token);
    await cancel(200, (await fixture.runs.build({ by: fixture.member })).id);
    await cancel(200, (await fixture.runs.build({ by: fixture.viewer })).id, fixture.viewer.token);
  });

  it('rejects a viewer, another team, and a colleague of the owner with 403 without a change', async () => {
    const { id } = await build({ state: 'INPROGRESS' });
    for (const { token } of [fixture.viewer, fixture.stranger])
      expectProblem(fixture.api, await cancel(403, id, token), 'not_authorized');
    expect((await get(id)).state).toBe('INPROGRESS');
    const { id: personal } = await fixture.runs.build({ by: fixture.member });
    const owner = await fixture.api.identities.user({ [fixture.team]: 'owner' });
    expectProblem(fixture.api, await cancel(403, personal, owner.token), 'not_authorized');
  });

  it('does not reveal the state of a run to a principal without access', async () => {
    expectProblem(
      fixture.api,
      await cancel(403, (await build({ state: 'SUCCEEDED' })).id, fixture.stranger.token),
      'not_authorized',
    );
  });

  it('rejects unknown and malformed ids with 404, and a blank one with 400', async () => {
    for (const id of [UNKNOWN_RUN_ID, 'nonsense', '%00'])
      expectProblem(fixture.api, await cancel(404, id), 'resource_not_found');
    expectProblem(fixture.api, await cancel(400, '%20'), 'invalid_request');
  });
});
