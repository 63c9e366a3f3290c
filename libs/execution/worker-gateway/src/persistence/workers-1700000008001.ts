import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Who is connected, one row a connection. The process that holds the socket moves `last_seen_at` and `alive_until` on,
 * for all of its connections at once; a row that nobody moves on is no connection, whatever became of its process.
 */
export class Workers1700000008001 implements MigrationInterface {
  name = 'Workers1700000008001';

  async up(queryRunner: QueryRunner): Promise<void> {
    // Moved on every few seconds: room for it in the page keeps the indexes, which have none of these columns, as they are.
    await queryRunner.query(`
CREATE TABLE headrace.worker_connections (
  id uuid PRIMARY KEY,
  team_uid text NOT NULL REFERENCES headrace.teams (uid),
  worker_host text NOT NULL CONSTRAINT ck_worker_connections__worker_host CHECK (btrim(worker_host) <> ''),
  instance uuid NOT NULL,
  connected_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  alive_until timestamptz NOT NULL,
  worker_instance text,
  version text,
  backend text,
  slots int,
  free_slots int CONSTRAINT ck_worker_connections__free_slots CHECK (free_slots >= 0),
  draining boolean NOT NULL DEFAULT false,
  rejected_until timestamptz,
  harnesses jsonb NOT NULL DEFAULT '[]',
  skills jsonb NOT NULL DEFAULT '[]'
) WITH (fillfactor = 70);
CREATE INDEX ix_worker_connections__host ON headrace.worker_connections (team_uid, worker_host);
CREATE INDEX ix_worker_connections__instance ON headrace.worker_connections (instance);

-- The connections of a host that a run may be offered to. Null: the worker has not said how much it takes.
CREATE FUNCTION headrace.usable_workers(p_team text, p_host text)
RETURNS TABLE (connection_id uuid, instance uuid, free_slots int, slots int) LANGUAGE sql STABLE AS $$
  SELECT id, w.instance, w.free_slots, w.slots FROM headrace.worker_connections w
  WHERE team_uid = p_team AND worker_host = p_host AND alive_until > headrace.now() AND NOT draining
    AND (rejected_until IS NULL OR rejected_until <= headrace.now())
$$;`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
DROP FUNCTION headrace.usable_workers(text, text);
DROP TABLE headrace.worker_connections;`);
  }
}
