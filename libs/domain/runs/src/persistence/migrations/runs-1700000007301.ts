import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Executions whose set-up failed and that stay for a debug agent. `debug_window_ms`: for how long, null: not at all.
 * `debug_until`: set with the phase; it moves on. A follow-up that is meant for such an execution names it in
 * `debug_execution_id`; `reroutes` counts how often it was left over by one that ended and went back to the queue.
 */
export class Runs1700000007301 implements MigrationInterface {
  name = 'Runs1700000007301';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(TABLES);
    await queryRunner.query(ADMIT);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
DROP FUNCTION headrace.admit_debug_sessions(text, int, int);
DROP INDEX headrace.ix_executions__debug;
SELECT headrace.release_slot(id) FROM headrace.executions WHERE phase = 'debug';
UPDATE headrace.executions SET phase = 'ended', ended_at = headrace.now(), end_reason = 'migrated' WHERE phase = 'debug';
ALTER TABLE headrace.executions
  DROP CONSTRAINT ck_executions__debug,
  DROP CONSTRAINT ck_executions__idle,
  DROP CONSTRAINT ck_executions__phase,
  ADD CONSTRAINT ck_executions__phase CHECK (phase IN ('offered','claimed','started','idle','ended')),
  ADD CONSTRAINT ck_executions__idle CHECK ((phase = 'idle') = (idle_since IS NOT NULL AND ended_at IS NULL)),
  DROP COLUMN debug_window_ms, DROP COLUMN debug_until;
ALTER TABLE headrace.run_followups DROP COLUMN debug_execution_id, DROP COLUMN reroutes;
ALTER TABLE headrace.runs DROP COLUMN session_in_debug;`);
  }
}

/** `session_in_debug`: the agent's session began in a debug window, and knows nothing of the run's own instructions. */
const TABLES = `
ALTER TABLE headrace.executions
  ADD COLUMN debug_window_ms int,
  ADD COLUMN debug_until timestamptz,
  DROP CONSTRAINT ck_executions__phase,
  DROP CONSTRAINT ck_executions__idle,
  ADD CONSTRAINT ck_executions__phase CHECK (phase IN ('offered','claimed','started','idle','debug','ended')),
  ADD CONSTRAINT ck_executions__idle CHECK (phase IN ('debug','ended') OR (phase = 'idle') = (idle_since IS NOT NULL)),
  ADD CONSTRAINT ck_executions__debug CHECK (phase = 'ended' OR (phase = 'debug') = (debug_until IS NOT NULL));
CREATE INDEX ix_executions__debug ON headrace.executions (pool, idle_since) WHERE phase = 'debug';
ALTER TABLE headrace.run_followups
  ADD COLUMN debug_execution_id bigint,
  ADD COLUMN reroutes smallint NOT NULL DEFAULT 0;
ALTER TABLE headrace.runs ADD COLUMN session_in_debug boolean NOT NULL DEFAULT false;
`;

/** Debug sessions with a message that waits for a slot go before queued runs, like idle ones in place_runs. */
const ADMIT = `
CREATE FUNCTION headrace.admit_debug_sessions(p_pool text, p_max int, p_owner_capacity int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE candidate record; v_admitted int := 0;
BEGIN
  FOR candidate IN
    SELECT e.id FROM headrace.executions e
     WHERE e.pool = p_pool AND e.phase = 'debug' AND NOT e.slot_held AND e.desired = 'run'
       AND EXISTS (SELECT 1 FROM headrace.run_followups f
                    WHERE f.run_id = e.run_id AND f.debug_execution_id = e.id AND f.consumed_at IS NULL)
     ORDER BY e.idle_since LIMIT p_max FOR UPDATE OF e SKIP LOCKED
  LOOP
    IF headrace.acquire_slot(candidate.id, p_owner_capacity) THEN
      PERFORM pg_notify('headrace_commands', candidate.id::text);
      v_admitted := v_admitted + 1;
    END IF;
  END LOOP;
  RETURN v_admitted;
END $$;
`;
