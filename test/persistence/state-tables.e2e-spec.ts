import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXECUTION_PHASE_MACHINE, EXECUTION_PHASES, RUN_STATE_MACHINE, RUN_STATES } from '#execution/executions';
import { newUuid, type StateMachine } from '#platform/kernel';
import {
  createTestDatabase,
  RunBuilder,
  type RunShape,
  type TestDatabase,
  TestIdentities,
  type TestPrincipal,
} from '#testing';

const WORKER_HOST = 'build-farm-1';

/** `from → to` of every transition that the table allows. */
const allowed = <S extends string>({ definition }: StateMachine<S, string, string>): ReadonlySet<string> =>
  new Set(
    Object.values<{ readonly [from in S]: { readonly to: S } | { readonly refuse: string } }>(definition.table).flatMap(
      (row) =>
        definition.states.flatMap((from) => {
          const transition = row[from];
          return 'to' in transition ? [`${from} → ${transition.to}`] : [];
        }),
    ),
  );

let database: TestDatabase;
let team: string;
let by: TestPrincipal;
let runs: RunBuilder;

beforeAll(async () => {
  database = await createTestDatabase();
  const identities = new TestIdentities(database);
  team = await identities.team();
  by = await identities.user({ [team]: 'member' });
  runs = new RunBuilder(database, { slots: 1000 });
});
afterAll(() => database.close());

describe('database functions', () => {
  it('change run states and execution phases only in place_executions', async () => {
    const functions = await database.query<{ name: string; source: string }>(
      `SELECT p.proname AS name, p.prosrc AS source FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname = 'headrace' ORDER BY p.proname`,
    );
    const changes = functions.filter(({ source }) =>
      /UPDATE (headrace\.)?(runs|executions)\b[^;]*\bSET\b(?:(?!\bWHERE\b)[^;])*\b(state|phase)\s*=|INSERT INTO (headrace\.)?(runs|executions)\b/i.test(
        source,
      ),
    );
    expect(changes.map(({ name }) => name)).toEqual(['place_executions']);
    for (const { source } of changes) {
      expect(source.match(/\bSET state = '\w+'/g)).toEqual([`SET state = '${RUN_STATE_MACHINE.target('offer')}'`]);
      expect(source.match(/\br\.state = '\w+'/g)).toEqual(
        expect.arrayContaining(RUN_STATE_MACHINE.sources('offer').map((state) => `r.state = '${state}'`)),
      );
      expect(new Set(source.match(/\br\.state = '\w+'/g)).size).toBe(RUN_STATE_MACHINE.sources('offer').length);
      expect(source).toContain(`'${EXECUTION_PHASE_MACHINE.definition.initial}'`);
      expect(source).not.toMatch(/SET phase/);
    }
  });
});

describe('placement in SQL', () => {
  /** Stores every change of state and phase; the placement under test cannot leave one out. */
  const record = () =>
    database.query(`
      CREATE TABLE changes (relation text, change text);
      CREATE FUNCTION record_state() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF new.state <> old.state THEN INSERT INTO changes VALUES ('runs', old.state || ' → ' || new.state); END IF;
        RETURN new; END $$;
      CREATE FUNCTION record_phase() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF TG_OP = 'INSERT' THEN INSERT INTO changes VALUES ('executions', 'new → ' || new.phase);
        ELSIF new.phase <> old.phase THEN INSERT INTO changes VALUES ('executions', old.phase || ' → ' || new.phase); END IF;
        RETURN new; END $$;
      CREATE TRIGGER record_state AFTER UPDATE ON runs FOR EACH ROW EXECUTE FUNCTION record_state();
      CREATE TRIGGER record_phase AFTER INSERT OR UPDATE ON executions FOR EACH ROW EXECUTE FUNCTION record_phase();`);

  it('changes run states and execution phases only by transitions that the state tables allow', async () => {
    for (const state of RUN_STATES) {
      for (const kind of ['hosted', 'self_hosted'] as const) {
        const shape: RunShape = { by, team, state, kind };
        await runs.build(shape);
        if (state === 'SUCCEEDED' || state === 'FAILED') await runs.build({ ...shape, session: 'idle' });
        if (state === 'QUEUED') await runs.build({ ...shape, session: 'stopping' });
      }
    }
    await database.query(
      `INSERT INTO worker_connections (id, team_uid, worker_host, instance, connected_at, last_seen_at, alive_until)
       VALUES ($1, $2, $3, $1, headrace.now(), headrace.now(), headrace.now() + interval '1 hour')`,
      [newUuid(), team, WORKER_HOST],
    );
    await database.query(
      `INSERT INTO slot_pools (key, used, capacity) VALUES ('pool:hosted', 0, 1000) ON CONFLICT (key) DO UPDATE SET capacity = 1000`,
    );
    await record();
    const hosted = await database.query(
      `SELECT * FROM place_executions(ARRAY['hosted'], ARRAY[NULL], 100, 1000, 60000, 'test')`,
    );
    const onWorkers = await database.query(
      `SELECT * FROM place_executions(ARRAY['worker:' || $2], ARRAY['team:' || $1], 100, 1000, 60000, 'test') WHERE execution_id IS NOT NULL`,
      [team, WORKER_HOST],
    );
    await database.query(`SELECT acquire_slot(id, 1000), release_slot(id) FROM executions`);
    expect([hosted.length, onWorkers.length]).toEqual([1, 1]);

    const changes = await database.query<{ relation: string; change: string }>(
      `SELECT DISTINCT relation, change FROM changes ORDER BY relation, change`,
    );
    expect(changes).toEqual([
      { relation: 'executions', change: `new → ${EXECUTION_PHASE_MACHINE.definition.initial}` },
      { relation: 'runs', change: 'QUEUED → PENDING' },
    ]);
    for (const { relation, change } of changes)
      if (relation === 'runs') expect(allowed(RUN_STATE_MACHINE)).toContain(change);
  });

  it('stores only states and phases that the state tables define', async () => {
    const [found] = await database.query<{ states: string[]; phases: string[] }>(
      `SELECT (SELECT array_agg(DISTINCT state) FROM runs) AS states, (SELECT array_agg(DISTINCT phase) FROM executions) AS phases`,
    );
    expect([...RUN_STATES]).toEqual(expect.arrayContaining(found?.states ?? []));
    expect([...EXECUTION_PHASES]).toEqual(expect.arrayContaining(found?.phases ?? []));
  });
});
