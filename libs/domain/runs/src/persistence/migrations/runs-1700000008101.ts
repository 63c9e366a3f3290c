import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Executions on self-hosted workers. `worker_connection_id`: the connection that holds the execution; it moves on when the
 * worker comes back with another one. `offer_sent_at`: the offer was given to the socket, which happens once.
 * `worker_adopted_at`: since when a connection that cannot tell what it runs holds it in place of one that is gone.
 * `runs.restarts`: how often a lost worker made the run begin again.
 */
export class Runs1700000008101 implements MigrationInterface {
  name = 'Runs1700000008101';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(COLUMNS);
    await queryRunner.query(acquireSlot(`IF v_held OR v_pool <> 'hosted' THEN RETURN true; END IF;`));
    await queryRunner.query(PLACE);
    await queryRunner.query(NOTICES);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(acquireSlot(`IF v_held THEN RETURN true; END IF;`));
    await queryRunner.query(`
DROP TRIGGER tr_executions__worker_given_up ON headrace.executions;
DROP TRIGGER tr_executions__worker_to_stop ON headrace.executions;
DROP TRIGGER tr_runs__requeued_for_worker ON headrace.runs;
DROP TRIGGER tr_runs__queued_for_worker ON headrace.runs;
DROP FUNCTION headrace.tell_worker_to_stop(), headrace.tell_worker_run(),
  headrace.place_worker_runs(text[], text[], int, int, text);
DROP INDEX headrace.ix_executions__worker, headrace.ix_executions__worker_pool;
ALTER TABLE headrace.executions DROP COLUMN worker_connection_id, DROP COLUMN offer_sent_at, DROP COLUMN worker_adopted_at;
ALTER TABLE headrace.runs DROP COLUMN restarts;`);
  }
}

const COLUMNS = `
ALTER TABLE headrace.executions ADD COLUMN worker_connection_id uuid, ADD COLUMN offer_sent_at timestamptz,
  ADD COLUMN worker_adopted_at timestamptz;
ALTER TABLE headrace.runs ADD COLUMN restarts smallint NOT NULL DEFAULT 0;
CREATE INDEX ix_executions__worker ON headrace.executions (worker_connection_id)
  WHERE worker_connection_id IS NOT NULL AND ended_at IS NULL;
CREATE INDEX ix_executions__worker_pool ON headrace.executions (pool, slot_key)
  WHERE worker_connection_id IS NOT NULL AND ended_at IS NULL;
`;

/** Slots are counted for hosted runs only: on machines that are not ours there is no limit of ours. */
const acquireSlot = (whoNeedsNone: string): string => `
CREATE OR REPLACE FUNCTION headrace.acquire_slot(p_execution bigint, p_owner_capacity int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_key text; v_pool text; v_held boolean;
BEGIN
  SELECT slot_key, pool, slot_held INTO v_key, v_pool, v_held
    FROM headrace.executions WHERE id = p_execution AND ended_at IS NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  ${whoNeedsNone}
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
 * Offers queued runs of the given hosts, each of one team, oldest first, to their least loaded usable connections, and to the
 * one that has just lost a run only where there is no other. One
 * caller at a time places on a host, so that no connection is given more than it has room for. A row without an execution
 * says that runs of this team wait for room on this host.
 */
const PLACE = `
CREATE FUNCTION headrace.place_worker_runs(p_teams text[], p_hosts text[], p_max int, p_claim_ms int, p_placed_by text)
RETURNS TABLE (execution_id bigint, run_id uuid, connection_id uuid, team text, host text) LANGUAGE plpgsql AS $$
DECLARE
  place record; candidate record; v_pool text; v_slot_key text; v_now timestamptz;
  v_connections uuid[]; v_live int[]; v_slots int[]; v_says_full boolean[]; v_chosen int;
BEGIN
  FOR place IN SELECT DISTINCT a.team AS uid, a.host AS name FROM unnest(p_teams, p_hosts) AS a (team, host) ORDER BY 1, 2 LOOP
    v_pool := 'worker:' || place.name;
    v_slot_key := 'team:' || place.uid;
    CONTINUE WHEN NOT EXISTS (
      SELECT 1 FROM headrace.runs r WHERE r.state = 'QUEUED' AND r.pool = v_pool AND r.slot_key = v_slot_key);
    PERFORM pg_advisory_xact_lock(hashtextextended(v_pool || ' ' || v_slot_key, 0));
    team := place.uid; host := place.name; v_now := headrace.now();
    SELECT array_agg(w.connection_id), array_agg(l.live), array_agg(w.slots), array_agg(coalesce(w.free_slots = 0, false))
      INTO v_connections, v_live, v_slots, v_says_full
      FROM headrace.usable_workers(place.uid, place.name) w
      CROSS JOIN LATERAL (SELECT count(*)::int AS live FROM headrace.executions e
                           WHERE e.worker_connection_id = w.connection_id AND e.ended_at IS NULL) l;
    CONTINUE WHEN v_connections IS NULL;
    FOR candidate IN
      SELECT r.id, r.config->>'idle_timeout_minutes' AS idle_minutes, failed.worker_connection_id AS failed_on FROM headrace.runs r
        LEFT JOIN LATERAL (SELECT e.worker_connection_id, e.end_reason FROM headrace.executions e
                            WHERE e.run_id = r.id ORDER BY e.id DESC LIMIT 1) failed
          ON failed.end_reason IN ('claim_expired', 'lease_expired', 'infrastructure_timeout')
       WHERE r.state = 'QUEUED' AND r.pool = v_pool AND r.slot_key = v_slot_key
         AND NOT EXISTS (SELECT 1 FROM headrace.executions e WHERE e.run_id = r.id AND e.ended_at IS NULL)
       ORDER BY r.queued_at, r.id LIMIT p_max
    LOOP
      SELECT w.place INTO v_chosen
        FROM unnest(v_connections, v_live, v_slots, v_says_full) WITH ORDINALITY AS w (id, live, slots, says_full, place)
       WHERE w.slots IS NULL OR w.live < w.slots
       ORDER BY w.says_full, w.id IS NOT DISTINCT FROM candidate.failed_on, w.live, random() LIMIT 1;
      IF NOT FOUND THEN
        execution_id := NULL; run_id := NULL; connection_id := NULL;
        RETURN NEXT;
        EXIT;
      END IF;
      PERFORM 1 FROM headrace.runs r WHERE r.id = candidate.id AND r.state = 'QUEUED' FOR UPDATE SKIP LOCKED;
      CONTINUE WHEN NOT FOUND;
      INSERT INTO headrace.executions (run_id, slot_key, pool, phase, placed_by, slot_held, idle_timeout_ms, offered_at,
          lease_expires_at, worker_connection_id)
        VALUES (candidate.id, v_slot_key, v_pool, 'offered', p_placed_by, false,
                (coalesce(candidate.idle_minutes::numeric, 10) * 60000)::int,
                v_now, v_now + p_claim_ms * interval '1 millisecond', v_connections[v_chosen])
        RETURNING id INTO execution_id;
      UPDATE headrace.runs r SET state = 'PENDING', offers = r.offers + 1, updated_at = v_now WHERE r.id = candidate.id;
      v_live[v_chosen] := v_live[v_chosen] + 1;
      run_id := candidate.id; connection_id := v_connections[v_chosen];
      RETURN NEXT;
    END LOOP;
  END LOOP;
END $$;
`;

/**
 * Tells the processes that hold connections of workers: a run waits for one; an execution is to be stopped, or was given up
 * while the worker may be at it. By triggers, so that whoever moves a run or an execution need not know of workers; hosted
 * runs cost the look at their row.
 */
const NOTICES = `
CREATE FUNCTION headrace.tell_worker_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('headrace_worker_runs', NEW.team_uid || ' ' || substr(NEW.pool, 8));
  RETURN NULL;
END $$;
CREATE TRIGGER tr_runs__queued_for_worker AFTER INSERT ON headrace.runs FOR EACH ROW
  WHEN (NEW.state = 'QUEUED' AND NEW.team_uid IS NOT NULL AND starts_with(NEW.pool, 'worker:'))
  EXECUTE FUNCTION headrace.tell_worker_run();
CREATE TRIGGER tr_runs__requeued_for_worker AFTER UPDATE OF state, pool ON headrace.runs FOR EACH ROW
  WHEN (NEW.state = 'QUEUED' AND NEW.team_uid IS NOT NULL AND starts_with(NEW.pool, 'worker:'))
  EXECUTE FUNCTION headrace.tell_worker_run();

CREATE FUNCTION headrace.tell_worker_to_stop() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('headrace_worker_stops', NEW.worker_connection_id || ' ' || NEW.run_id || ' ' || NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER tr_executions__worker_to_stop AFTER UPDATE OF desired ON headrace.executions FOR EACH ROW
  WHEN (NEW.worker_connection_id IS NOT NULL AND NEW.ended_at IS NULL AND NEW.desired IN ('stop', 'kill')
    AND NEW.desired IS DISTINCT FROM OLD.desired)
  EXECUTE FUNCTION headrace.tell_worker_to_stop();
CREATE TRIGGER tr_executions__worker_given_up AFTER UPDATE OF ended_at ON headrace.executions FOR EACH ROW
  WHEN (NEW.worker_connection_id IS NOT NULL AND NEW.offer_sent_at IS NOT NULL AND OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL
    AND NEW.end_reason IN ('claim_expired', 'lease_expired', 'fenced'))
  EXECUTE FUNCTION headrace.tell_worker_to_stop();
`;
