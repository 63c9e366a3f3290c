import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RUN_STATES } from '#execution/executions';
import {
  createTestDatabase,
  RunBuilder,
  type RunShape,
  type TestDatabase,
  TestIdentities,
  type TestPrincipal,
} from '#testing';

const SESSIONS = ['none', 'live', 'idle', 'stopping'] as const;
const KINDS = ['hosted', 'self_hosted', 'local', 'github_action'] as const;

let database: TestDatabase;
let team: string;
let by: TestPrincipal;
let runs: RunBuilder;

beforeAll(async () => {
  database = await createTestDatabase();
  const identities = new TestIdentities(database);
  team = await identities.team();
  by = await identities.user({ [team]: 'member' });
  runs = new RunBuilder(database);
});
afterAll(() => database.close());

/** State and session that go together, and how the agent stands; the table's own CHECKs refuse more. */
const POSSIBLE: Record<(typeof RUN_STATES)[number], readonly (typeof SESSIONS)[number][]> = {
  QUEUED: ['none', 'stopping'],
  PENDING: ['live'],
  CLAIMED: ['live'],
  INPROGRESS: ['live'],
  BLOCKED: ['none', 'live'],
  SUCCEEDED: ['none', 'idle', 'stopping'],
  FAILED: ['none', 'idle', 'stopping'],
  ERROR: ['none', 'stopping'],
  CANCELLED: ['none', 'stopping'],
};
const SHAPES = RUN_STATES.flatMap((state) => SESSIONS.map((session) => ({ state, session })));
const PHASE = { PENDING: 'offered', CLAIMED: 'claimed' } as Partial<Record<string, string>>;

describe('the builder of runs', () => {
  it.each(SHAPES)('$state, session $session: rows that go together, or a refusal', async ({ state, session }) => {
    for (const kind of KINDS) {
      const shape: RunShape = { by, state, session, kind, ...(kind === 'hosted' ? { team } : {}) };
      if (!POSSIBLE[state].includes(session)) {
        await expect(runs.build(shape)).rejects.toThrow(/^No such run: /);
        continue;
      }
      const built = await runs.build(shape);
      const [row] = await database.query(
        `SELECT r.state, r.conversation_id, r.started_at IS NOT NULL AS has_started, r.prompt_taken, e.phase, e.desired, e.slot_held, h.last_seq,
           (SELECT max(seq) FROM run_events WHERE run_id = r.id) AS max_seq, (SELECT count(*) FROM run_events WHERE run_id = r.id) AS events,
           (SELECT count(*)::int FROM approvals a WHERE a.run_id = r.id AND a.execution_id = e.id AND a.state = 'pending') AS questions
         FROM runs r LEFT JOIN executions e ON e.run_id = r.id AND e.ended_at IS NULL JOIN run_heads h ON h.run_id = r.id WHERE r.id = $1`,
        [built.id],
      );
      const phase = session === 'none' ? null : session === 'idle' ? 'idle' : (PHASE[state] ?? 'started');
      expect(row).toMatchObject({
        state,
        conversation_id: built.conversationId,
        has_started: built.conversationId !== null,
        prompt_taken: built.conversationId !== null,
        phase,
        questions: state === 'BLOCKED' && session === 'live' ? 1 : 0,
        ...(phase === null
          ? {}
          : { desired: session === 'stopping' ? 'stop' : 'run', slot_held: kind === 'hosted' && phase !== 'idle' }),
      });
      expect([row?.last_seq, row?.events]).toEqual([row?.max_seq, row?.max_seq]);
    }
  });

  it('counts the slots that its executions hold', async () => {
    const counted = await database.query<{ key: string; used: number }>(
      'SELECT key, used FROM slot_pools ORDER BY key',
    );
    const held = await database.query<{ key: string; used: number }>(
      `SELECT key, count(*)::int AS used FROM executions e CROSS JOIN LATERAL (VALUES ('pool:' || e.pool), (e.slot_key)) k (key) WHERE e.slot_held GROUP BY key ORDER BY key`,
    );
    expect(held.length).toBeGreaterThan(1);
    expect(counted).toEqual(held);
  });
});
