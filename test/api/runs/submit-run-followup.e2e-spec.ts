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
const followUp = (status: number, runId: string, body: unknown, token = fixture.member.token) =>
  fixture.request(status, `POST /agent/runs/${runId}/followups`, { token, body });
const stateOf = async (runId: string) =>
  (await fixture.request(200, `GET /agent/runs/${runId}`, { token: fixture.member.token })).body.state as string;
const waitingFor = (runId: string) =>
  fixture.database.query(
    'SELECT id, message, mode, outcome FROM run_followups WHERE run_id = $1 AND consumed_at IS NULL ORDER BY position',
    [runId],
  );

/** Where a message goes, and the state of the run afterwards; null: there is nothing to continue from. */
const ROUTES: readonly [Shape, outcome: string | null, after: string][] = [
  [{ state: 'QUEUED' }, 'queued_prompt', 'QUEUED'],
  [{ state: 'QUEUED', conversation: true }, 'queued_prompt', 'QUEUED'],
  [{ state: 'QUEUED', session: 'stopping' }, 'queued_prompt', 'QUEUED'],
  [{ state: 'PENDING' }, 'queue_pending', 'PENDING'],
  [{ state: 'CLAIMED' }, 'queue_pending', 'CLAIMED'],
  [{ state: 'INPROGRESS' }, 'live_session', 'INPROGRESS'],
  [{ state: 'BLOCKED' }, 'live_session', 'BLOCKED'],
  [{ state: 'BLOCKED', session: 'none' }, 'handoff_execution', 'QUEUED'],
  [{ state: 'SUCCEEDED', session: 'idle' }, 'live_session', 'INPROGRESS'],
  [{ state: 'SUCCEEDED' }, 'handoff_execution', 'QUEUED'],
  [{ state: 'FAILED', session: 'idle' }, 'live_session', 'INPROGRESS'],
  [{ state: 'FAILED', conversation: true }, 'handoff_execution', 'QUEUED'],
  [{ state: 'FAILED' }, null, 'FAILED'],
  [{ state: 'ERROR', conversation: true }, 'handoff_execution', 'QUEUED'],
  [{ state: 'ERROR' }, null, 'ERROR'],
  [{ state: 'CANCELLED', conversation: true }, 'handoff_execution', 'QUEUED'],
  [{ state: 'CANCELLED', session: 'stopping' }, 'handoff_execution', 'QUEUED'],
  [{ state: 'CANCELLED' }, null, 'CANCELLED'],
];

describe('a follow-up', () => {
  it.each(ROUTES)('to %o → %s', async (shape, outcome, after) => {
    const { id } = await build(shape);
    const answer = await followUp(outcome === null ? 400 : 200, id, {
      message: 'Also fix the other one.',
      mode: 'plan',
    });
    expect(await stateOf(id)).toBe(after);
    if (outcome === null) {
      expectProblem(fixture.api, answer, 'invalid_request');
      expect(answer.body.detail).toBe('The run has no open session and no conversation to continue from.');
      expect(await waitingFor(id)).toEqual([]);
      return;
    }
    expect(answer.body).toEqual({ followup_id: expect.stringMatching(/^[0-9a-f-]{36}$/), outcome });
    expect(await waitingFor(id)).toEqual([
      { id: answer.body.followup_id, message: 'Also fix the other one.', mode: 'plan', outcome },
    ]);
    const { body } = await fixture.request(200, `GET /agent/runs/${id}/timeline`, { token: fixture.member.token });
    expect(body.events.at(-1)).toMatchObject({
      event_type: 'followup_received',
      payload: { followup_id: answer.body.followup_id, outcome },
    });
  });

  it.each(ROUTES)(
    'without a message to %o is accepted only to continue a stored conversation (%s)',
    async (shape, outcome) => {
      for (const body of [{}, { message: '' }, { message: ' \n' }]) {
        const { id } = await build(shape);
        const before = await stateOf(id);
        if (outcome === 'handoff_execution') {
          expect((await followUp(200, id, body)).body.outcome).toBe('handoff_execution');
          continue;
        }
        const answer = await followUp(400, id, body);
        const errors =
          outcome === null
            ? undefined
            : [
                {
                  pointer: '/message',
                  detail: 'must not be empty unless the run continues from its saved conversation',
                },
              ];
        expectProblem(fixture.api, answer, 'invalid_request', errors);
        expect(await stateOf(id)).toBe(before);
      }
    },
  );

  it('is accepted for a run of any kind', async () => {
    for (const kind of ['self_hosted', 'local', 'github_action'] as const) {
      expect(
        (await followUp(200, (await build({ kind, state: 'INPROGRESS' })).id, { message: 'x' })).body.outcome,
      ).toBe('live_session');
    }
  });

  it('clears the error of an earlier execution', async () => {
    const { id } = await build({ state: 'ERROR', conversation: true });
    await followUp(200, id, { message: 'Again.' });
    const { body } = await fixture.request(200, `GET /agent/runs/${id}`, { token: fixture.member.token });
    expect(body).toMatchObject({ state: 'QUEUED', conversation_id: expect.any(String) });
    expect(body).not.toHaveProperty('status_message');
  });
});

describe('a pending follow-up of a cancelled run', () => {
  it('is dropped, and not delivered with a later follow-up', async () => {
    const { id } = await build({ state: 'INPROGRESS' });
    await followUp(200, id, { message: 'Never mind.' });
    await fixture.request(200, `POST /agent/runs/${id}/cancel`, { token: fixture.member.token });
    await followUp(200, id, { message: 'Do this instead.' });
    expect(await waitingFor(id)).toEqual([expect.objectContaining({ message: 'Do this instead.' })]);
  });
});

describe('concurrent follow-ups', () => {
  it('to an ended run are all accepted, and the first continues it', async () => {
    const { id } = await build({ state: 'SUCCEEDED' });
    const answers = await sendConcurrently(fixture.api, lockOfRun(id), () =>
      Array.from({ length: 20 }, (_, index) =>
        requestAnyStatus(fixture.api, `POST /agent/runs/${id}/followups`, {
          token: fixture.member.token,
          body: { message: `m${index}` },
        }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array<number>(20).fill(200));
    expect(answers.map(({ body }) => body.outcome as string).sort()).toEqual([
      'handoff_execution',
      ...Array<string>(19).fill('queued_prompt'),
    ]);
    expect(await waitingFor(id)).toHaveLength(20);
    expect(fixture.api.log.errors).toEqual([]);
  });

  it('are limited to a hundred pending ones, and the next is rejected with Retry-After', async () => {
    const { id } = await build({ state: 'INPROGRESS' });
    await fixture.database.query(
      `INSERT INTO run_followups (id, run_id, message, outcome, author_type, author_uid, created_at)
       SELECT gen_random_uuid(), $1, 'x', 'live_session', 'user', $2, headrace.now() FROM generate_series(1, 95)`,
      [id, fixture.member.uid],
    );
    const answers = await sendConcurrently(fixture.api, lockOfRun(id), () =>
      Array.from({ length: 20 }, () =>
        requestAnyStatus(fixture.api, `POST /agent/runs/${id}/followups`, {
          token: fixture.member.token,
          body: { message: 'y' },
        }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...Array<number>(5).fill(200),
      ...Array<number>(15).fill(409),
    ]);
    const late = await followUp(409, id, { message: 'z' });
    expectProblem(fixture.api, late, 'conflict');
    expect(Number(late.headers.get('retry-after'))).toBeGreaterThan(0);
    await fixture.database.query('UPDATE run_followups SET consumed_at = headrace.now() WHERE run_id = $1', [id]);
    await followUp(200, id, { message: 'z' });
  });

  it('are limited to 4 MiB of messages together, but for one message', async () => {
    const { id } = await build({ state: 'INPROGRESS' });
    const message = 'x'.repeat(1_000_000);
    for (let count = 0; count < 4; count += 1) await followUp(200, id, { message });
    expectProblem(fixture.api, await followUp(409, id, { message }), 'conflict');
    await followUp(200, id, { message: 'A short one.' });
  });
});

describe('invalid input', () => {
  let id: string;
  beforeAll(async () => {
    ({ id } = await build({ state: 'SUCCEEDED' }));
  });

  it('no body is rejected with 400, although an empty message is valid', async () => {
    expectProblem(
      fixture.api,
      await fixture.request(400, `POST /agent/runs/${id}/followups`, { token: fixture.member.token }),
      'invalid_request',
      [{ pointer: '', detail: 'is required' }],
    );
  });

  it.each<[unknown, string, string]>([
    [{ message: 7 }, '/message', 'must be a string'],
    [{ message: null }, '/message', 'must be a string'],
    [{ message: 'a\0b' }, '/message', 'must not contain NUL characters or lone surrogates'],
    [{ message: '\ud800' }, '/message', 'must not contain NUL characters or lone surrogates'],
    [{ message: 'x', mode: 'fast' }, '/mode', 'must be one of normal, plan, orchestrate'],
    [{ message: 'x', prompt: 'x' }, '/prompt', 'is not a known field'],
    [[], '', 'must be an object'],
  ])('is rejected with 400 (case %#)', async (body, pointer, detail) => {
    expectProblem(fixture.api, await followUp(400, id, body), 'invalid_request', [{ pointer, detail }]);
    expect(await stateOf(id)).toBe('SUCCEEDED');
  });

  it('over 2 MB is rejected with 413, and another media type with 415', async () => {
    expectProblem(fixture.api, await followUp(413, id, { message: 'x'.repeat(2_097_152) }), 'payload_too_large');
    const answer = await fixture.request(415, `POST /agent/runs/${id}/followups`, {
      token: fixture.member.token,
      body: 'hello',
      contentType: 'text/plain',
    });
    expectProblem(fixture.api, answer, 'unsupported_media_type');
  });

  it('a message of 1 MiB is accepted, and one byte more is rejected with 413', async () => {
    const { id: other } = await build({ state: 'SUCCEEDED' });
    const message = `${'é'.repeat(524_287)}xy`;
    const errors = [{ pointer: '/message', detail: 'must not exceed 1048576 bytes in UTF-8' }];
    expectProblem(fixture.api, await followUp(413, other, { message: `${message}z` }), 'payload_too_large', errors);
    await followUp(200, other, { message });
  });
});

describe('authorization to follow up', () => {
  it('allows a member, a service account of the team, and the owner of a personal run', async () => {
    const bot = await fixture.api.identities.serviceAccount(fixture.team);
    await followUp(200, (await build({ state: 'SUCCEEDED' })).id, { message: 'x' }, bot.token);
    await followUp(
      200,
      (await fixture.runs.build({ by: fixture.stranger, state: 'SUCCEEDED' })).id,
      { message: 'x' },
      fixture.stranger.token,
    );
  });

  it('rejects a viewer and another team with 403', async () => {
    const { id } = await build({ state: 'SUCCEEDED' });
    for (const { token } of [fixture.viewer, fixture.stranger])
      expectProblem(fixture.api, await followUp(403, id, { message: 'x' }, token), 'not_authorized');
    expect(await stateOf(id)).toBe('SUCCEEDED');
  });

  it('rejects unknown and malformed ids with 404, and a blank one with 400', async () => {
    for (const id of [UNKNOWN_RUN_ID, 'nonsense'])
      expectProblem(fixture.api, await followUp(404, id, { message: 'x' }), 'resource_not_found');
    expectProblem(fixture.api, await followUp(400, '%20', { message: 'x' }), 'invalid_request');
  });
});
