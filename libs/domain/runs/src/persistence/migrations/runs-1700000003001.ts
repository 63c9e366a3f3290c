import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The tables of the runs room. `state = 'QUEUED'` is the queue itself (partial index), leases live on executions so
 * that heartbeats never touch a run's row, and concurrency limits are counters moved by guarded updates.
 */
export class Runs1700000003001 implements MigrationInterface {
  name = 'Runs1700000003001';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(TABLES);
    await queryRunner.query(SLOT_FUNCTIONS);
    await queryRunner.query(PLACE_RUNS);
    await queryRunner.query(PARTITIONS);
    await queryRunner.query(`SELECT headrace.ensure_run_event_partitions(3)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP FUNCTION headrace.ensure_run_event_partitions(int), headrace.uuid_floor(timestamptz), headrace.place_runs(text, int, int, int, text),
        headrace.acquire_slot(bigint, int), headrace.release_slot(bigint);
      DROP TABLE headrace.approvals, headrace.run_followups, headrace.idempotency_keys, headrace.run_events,
        headrace.run_heads, headrace.executions, headrace.slot_pools, headrace.runs;`);
  }
}

const TABLES = `
CREATE TABLE headrace.runs (
  id uuid PRIMARY KEY,
  team_uid text,
  owner_user_uid text,
  slot_key text NOT NULL,
  pool text NOT NULL,
  state text NOT NULL CONSTRAINT ck_runs__state CHECK (state IN
    ('QUEUED','PENDING','CLAIMED','INPROGRESS','SUCCEEDED','FAILED','BLOCKED','ERROR','CANCELLED')),
  title text NOT NULL,
  prompt text NOT NULL,
  source text NOT NULL,
  execution_location text NOT NULL,
  mode text NOT NULL,
  interactive boolean NOT NULL,
  creator_type text NOT NULL,
  creator_uid text NOT NULL,
  executor_type text NOT NULL,
  executor_uid text NOT NULL,
  config jsonb NOT NULL,
  skill_spec text GENERATED ALWAYS AS (config->>'skill_spec') STORED,
  metadata jsonb,
  parent_run_id uuid,
  conversation_id uuid,
  conversation_format text,
  session_id text,
  status_message jsonb,
  offers smallint NOT NULL DEFAULT 0,
  prompt_taken boolean NOT NULL DEFAULT false,
  busy_ms bigint NOT NULL DEFAULT 0,
  transcript jsonb,
  queued_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  started_at timestamptz,
  CONSTRAINT ck_runs__one_owner CHECK (num_nonnulls(team_uid, owner_user_uid) = 1),
  CONSTRAINT ck_runs__failure_has_message CHECK (state NOT IN ('FAILED','ERROR') OR status_message IS NOT NULL)
);
CREATE INDEX ix_runs__queue ON headrace.runs (pool, slot_key, queued_at) WHERE state = 'QUEUED';
CREATE INDEX ix_runs__team_created ON headrace.runs (team_uid, created_at, id) WHERE team_uid IS NOT NULL;
CREATE INDEX ix_runs__team_updated ON headrace.runs (team_uid, updated_at, id) WHERE team_uid IS NOT NULL;
CREATE INDEX ix_runs__owner_updated ON headrace.runs (owner_user_uid, updated_at, id) WHERE owner_user_uid IS NOT NULL;

CREATE TABLE headrace.slot_pools (
  key text PRIMARY KEY,
  used int NOT NULL CONSTRAINT ck_slot_pools__not_negative CHECK (used >= 0),
  capacity int NOT NULL CHECK (capacity >= 0)
);

CREATE TABLE headrace.executions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run_id uuid NOT NULL REFERENCES headrace.runs (id) ON DELETE CASCADE,
  slot_key text NOT NULL,
  pool text NOT NULL,
  phase text NOT NULL CONSTRAINT ck_executions__phase CHECK (phase IN ('offered','claimed','started','idle','ended')),
  lease_epoch int NOT NULL DEFAULT 0,
  placed_by text NOT NULL,
  instance_id text,
  slot_held boolean NOT NULL,
  desired text NOT NULL DEFAULT 'run' CONSTRAINT ck_executions__desired CHECK (desired IN ('run','stop','kill','close')),
  desired_reason text,
  fence_at timestamptz,
  command_version bigint NOT NULL DEFAULT 1,
  acked_seq bigint NOT NULL DEFAULT 0,
  idle_timeout_ms int NOT NULL,
  offered_at timestamptz NOT NULL,
  lease_expires_at timestamptz NOT NULL,
  claimed_at timestamptz,
  started_at timestamptz,
  busy_since timestamptz,
  idle_since timestamptz,
  ended_at timestamptz,
  end_reason text,
  exit_code int,
  CONSTRAINT ck_executions__ended CHECK ((phase = 'ended') = (ended_at IS NOT NULL)),
  CONSTRAINT ck_executions__ended_holds_no_slot CHECK (phase <> 'ended' OR NOT slot_held),
  CONSTRAINT ck_executions__idle CHECK ((phase = 'idle') = (idle_since IS NOT NULL AND ended_at IS NULL))
);
CREATE UNIQUE INDEX uq_executions__one_live_per_run ON headrace.executions (run_id) WHERE ended_at IS NULL;
CREATE INDEX ix_executions__run ON headrace.executions (run_id, id);
CREATE INDEX ix_executions__idle ON headrace.executions (pool, idle_since) WHERE phase = 'idle';
CREATE INDEX ix_executions__live ON headrace.executions (lease_expires_at) WHERE ended_at IS NULL;

CREATE TABLE headrace.run_heads (
  run_id uuid PRIMARY KEY REFERENCES headrace.runs (id) ON DELETE CASCADE,
  last_seq bigint NOT NULL
);

CREATE TABLE headrace.run_events (
  run_id uuid NOT NULL,
  seq bigint NOT NULL,
  execution_id bigint,
  kind text NOT NULL,
  at timestamptz NOT NULL,
  data jsonb NOT NULL,
  PRIMARY KEY (run_id, seq)
) PARTITION BY RANGE (run_id);
CREATE TABLE headrace.run_events_default PARTITION OF headrace.run_events DEFAULT;

CREATE TABLE headrace.idempotency_keys (
  scope text NOT NULL,
  key text NOT NULL,
  request_hash bytea NOT NULL,
  run_id uuid NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (scope, key)
);
CREATE INDEX ix_idempotency_keys__created ON headrace.idempotency_keys (created_at);

CREATE TABLE headrace.run_followups (
  id uuid PRIMARY KEY,
  run_id uuid NOT NULL REFERENCES headrace.runs (id) ON DELETE CASCADE,
  position bigint GENERATED ALWAYS AS IDENTITY,
  message text NOT NULL,
  mode text,
  outcome text NOT NULL,
  author_type text NOT NULL,
  author_uid text NOT NULL,
  created_at timestamptz NOT NULL,
  consumed_at timestamptz,
  execution_id bigint
);
CREATE INDEX ix_run_followups__pending ON headrace.run_followups (run_id, position) WHERE consumed_at IS NULL;

CREATE TABLE headrace.approvals (
  run_id uuid NOT NULL REFERENCES headrace.runs (id) ON DELETE CASCADE,
  id text NOT NULL,
  execution_id bigint NOT NULL,
  tool_call_id text,
  title text NOT NULL,
  input jsonb,
  options jsonb NOT NULL,
  state text NOT NULL CONSTRAINT ck_approvals__state CHECK (state IN ('pending','allowed','denied')),
  decided_via text CONSTRAINT ck_approvals__decided_via CHECK (decided_via IN ('user','timeout','cancel')),
  decided_by_type text,
  decided_by_uid text,
  note text,
  requested_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  decided_at timestamptz,
  PRIMARY KEY (run_id, id),
  CONSTRAINT ck_approvals__decision CHECK ((state = 'pending') = (decided_at IS NULL))
);
CREATE INDEX ix_approvals__pending ON headrace.approvals (expires_at) WHERE state = 'pending';
`;

/** The global row is always locked before the owner's, here and in place_runs, so that these never deadlock. */
const SLOT_FUNCTIONS = `
CREATE FUNCTION headrace.release_slot(p_execution bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_key text; v_pool text;
BEGIN
  UPDATE headrace.executions SET slot_held = false WHERE id = p_execution AND slot_held
    RETURNING slot_key, pool INTO v_key, v_pool;
  IF NOT FOUND THEN RETURN false; END IF;
  UPDATE headrace.slot_pools SET used = used - 1 WHERE key = 'pool:' || v_pool;
  UPDATE headrace.slot_pools SET used = used - 1 WHERE key = v_key;
  RETURN true;
END $$;

CREATE FUNCTION headrace.acquire_slot(p_execution bigint, p_owner_capacity int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_key text; v_pool text; v_held boolean;
BEGIN
  SELECT slot_key, pool, slot_held INTO v_key, v_pool, v_held
    FROM headrace.executions WHERE id = p_execution AND ended_at IS NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  IF v_held THEN RETURN true; END IF;
  UPDATE headrace.slot_pools SET used = used + 1 WHERE key = 'pool:' || v_pool AND used < capacity;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO headrace.slot_pools AS s (key, used, capacity) VALUES (v_key, 1, p_owner_capacity)
    ON CONFLICT (key) DO UPDATE SET used = s.used + 1, capacity = excluded.capacity WHERE s.used < excluded.capacity;
  IF NOT FOUND THEN
    UPDATE headrace.slot_pools SET used = used - 1 WHERE key = 'pool:' || v_pool;
    RETURN false;
  END IF;
  UPDATE headrace.executions SET slot_held = true WHERE id = p_execution;
  RETURN true;
END $$;
`;

/**
 * Offers up to p_max queued runs of a pool: oldest first among the owners that have a slot left. An owner's queue is
 * found by walking the partial index, so a flood of one owner costs the others one index probe.
 */
const PLACE_RUNS = `
CREATE FUNCTION headrace.place_runs(p_pool text, p_max int, p_owner_capacity int, p_claim_ms int, p_placed_by text)
RETURNS TABLE (execution_id bigint, run_id uuid) LANGUAGE plpgsql AS $$
DECLARE candidate record; v_now timestamptz := headrace.now(); v_execution bigint;
BEGIN
  -- A session that waits with a follow-up goes first: it is open, and its run is in progress for whoever looks.
  FOR candidate IN
    SELECT e.id FROM headrace.executions e
     WHERE e.pool = p_pool AND e.phase = 'idle' AND NOT e.slot_held AND e.desired = 'run'
       AND EXISTS (SELECT 1 FROM headrace.run_followups f WHERE f.run_id = e.run_id AND f.consumed_at IS NULL)
     ORDER BY e.idle_since LIMIT p_max FOR UPDATE OF e SKIP LOCKED
  LOOP
    IF headrace.acquire_slot(candidate.id, p_owner_capacity) THEN
      PERFORM pg_notify('headrace_commands', candidate.id::text);
    END IF;
  END LOOP;
  FOR candidate IN
    WITH RECURSIVE owners AS (
      (SELECT r.slot_key FROM headrace.runs r WHERE r.state = 'QUEUED' AND r.pool = p_pool ORDER BY r.slot_key LIMIT 1)
      UNION ALL
      SELECT (SELECT r.slot_key FROM headrace.runs r
               WHERE r.state = 'QUEUED' AND r.pool = p_pool AND r.slot_key > o.slot_key ORDER BY r.slot_key LIMIT 1)
        FROM owners o WHERE o.slot_key IS NOT NULL
    )
    SELECT q.id, q.slot_key, q.config FROM owners o
      LEFT JOIN headrace.slot_pools s ON s.key = o.slot_key
      CROSS JOIN LATERAL (
        SELECT r.id, r.slot_key, r.config, r.queued_at FROM headrace.runs r
         WHERE r.state = 'QUEUED' AND r.pool = p_pool AND r.slot_key = o.slot_key
           AND NOT EXISTS (SELECT 1 FROM headrace.executions e WHERE e.run_id = r.id AND e.ended_at IS NULL)
         ORDER BY r.queued_at LIMIT least(p_max, greatest(0, p_owner_capacity - coalesce(s.used, 0)))
      ) q
     WHERE o.slot_key IS NOT NULL
     ORDER BY q.queued_at LIMIT p_max
  LOOP
    PERFORM 1 FROM headrace.runs r WHERE r.id = candidate.id AND r.state = 'QUEUED' FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    UPDATE headrace.slot_pools SET used = used + 1 WHERE key = 'pool:' || p_pool AND used < capacity;
    EXIT WHEN NOT FOUND;
    INSERT INTO headrace.slot_pools AS s (key, used, capacity) VALUES (candidate.slot_key, 1, p_owner_capacity)
      ON CONFLICT (key) DO UPDATE SET used = s.used + 1, capacity = excluded.capacity WHERE s.used < excluded.capacity;
    IF NOT FOUND THEN
      UPDATE headrace.slot_pools SET used = used - 1 WHERE key = 'pool:' || p_pool;
      CONTINUE;
    END IF;
    INSERT INTO headrace.executions (run_id, slot_key, pool, phase, placed_by, slot_held, idle_timeout_ms, offered_at, lease_expires_at)
      VALUES (candidate.id, candidate.slot_key, p_pool, 'offered', p_placed_by, true,
              (coalesce((candidate.config->>'idle_timeout_minutes')::numeric, 10) * 60000)::int,
              v_now, v_now + p_claim_ms * interval '1 millisecond')
      RETURNING id INTO v_execution;
    UPDATE headrace.runs r SET state = 'PENDING', offers = r.offers + 1, updated_at = v_now WHERE r.id = candidate.id;
    execution_id := v_execution; run_id := candidate.id;
    RETURN NEXT;
  END LOOP;
END $$;
`;

/** Monthly partitions by the time inside the run's UUIDv7; what fits none goes to the default partition. */
const PARTITIONS = `
CREATE FUNCTION headrace.uuid_floor(p_at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT (lpad(to_hex(floor(extract(epoch FROM p_at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;
CREATE FUNCTION headrace.ensure_run_event_partitions(p_months_ahead int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_from timestamptz; v_to timestamptz; v_name text;
BEGIN
  FOR i IN 0..p_months_ahead LOOP
    v_from := date_trunc('month', headrace.now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' + make_interval(months => i);
    v_to := date_trunc('month', headrace.now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' + make_interval(months => i + 1);
    v_name := 'run_events_' || to_char(v_from AT TIME ZONE 'UTC', 'YYYY_MM');
    IF to_regclass('headrace.' || v_name) IS NULL THEN
      EXECUTE format('CREATE TABLE headrace.%I PARTITION OF headrace.run_events FOR VALUES FROM (%L) TO (%L)',
        v_name, headrace.uuid_floor(v_from), headrace.uuid_floor(v_to));
    END IF;
  END LOOP;
END $$;
`;
