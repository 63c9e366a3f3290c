import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `known_slots`: how many runs a connection takes at once, learnt from its rejections; `rejected_until` is until when no
 * more than that is tried. `account_uid`: the service account that connected. `worker_reachability` is one row: since when
 * at least one API process has been there without a gap for workers to connect to.
 */
export class Workers1700000010201 implements MigrationInterface {
  name = 'Workers1700000010201';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
ALTER TABLE headrace.worker_connections ADD COLUMN account_uid text,
  ADD COLUMN known_slots int CONSTRAINT ck_worker_connections__known_slots CHECK (known_slots >= 0);

DROP FUNCTION headrace.usable_workers(text, text);
-- The connections of a host that a run may be offered to. slots: reported by the worker, or null. known_slots: learnt, or
-- null; is_paused: more than these were rejected a moment ago.
CREATE FUNCTION headrace.usable_workers(p_team text, p_host text)
RETURNS TABLE (connection_id uuid, instance uuid, free_slots int, slots int, known_slots int, is_paused boolean)
LANGUAGE sql STABLE AS $$
  SELECT id, w.instance, w.free_slots, w.slots, w.known_slots, coalesce(w.rejected_until > headrace.now(), false)
    FROM headrace.worker_connections w
   WHERE team_uid = p_team AND worker_host = p_host AND alive_until > headrace.now() AND NOT draining
$$;

CREATE TABLE headrace.worker_reachability (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  since timestamptz NOT NULL,
  alive_until timestamptz NOT NULL
) WITH (fillfactor = 50);
-- Since when workers have been able to connect; null while they are not.
CREATE FUNCTION headrace.workers_reachable_since() RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT since FROM headrace.worker_reachability WHERE alive_until > headrace.now()
$$;`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
DROP FUNCTION headrace.workers_reachable_since();
DROP TABLE headrace.worker_reachability;
DROP FUNCTION headrace.usable_workers(text, text);
CREATE FUNCTION headrace.usable_workers(p_team text, p_host text)
RETURNS TABLE (connection_id uuid, instance uuid, free_slots int, slots int) LANGUAGE sql STABLE AS $$
  SELECT id, w.instance, w.free_slots, w.slots FROM headrace.worker_connections w
  WHERE team_uid = p_team AND worker_host = p_host AND alive_until > headrace.now() AND NOT draining
    AND (rejected_until IS NULL OR rejected_until <= headrace.now())
$$;
ALTER TABLE headrace.worker_connections DROP COLUMN account_uid, DROP COLUMN known_slots;`);
  }
}
