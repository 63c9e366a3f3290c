import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * How far each kind of retention has come. `upto`: everything that had not changed after this was looked at. While a
 * walk goes on, `until` is where it will have come to, and the last three columns of `ix_runs__updated` say where it is.
 * `revisit`: runs that could not be pruned when the walk passed them, because something still held them.
 */
export class Runs1700000003006 implements MigrationInterface {
  name = 'Runs1700000003006';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
CREATE TABLE headrace.retention_walks (
  kind text PRIMARY KEY CONSTRAINT ck_retention_walks__kind CHECK (kind IN ('runs','transcripts','timelines')),
  upto timestamptz NOT NULL DEFAULT '-infinity',
  until timestamptz,
  slot_key text NOT NULL DEFAULT '',
  updated_at timestamptz NOT NULL DEFAULT '-infinity',
  run_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  revisit uuid[] NOT NULL DEFAULT '{}'
);
INSERT INTO headrace.retention_walks (kind) VALUES ('runs'), ('transcripts'), ('timelines');
-- A run's follow-ups go with it; the partial index knows the pending ones only.
CREATE INDEX ix_run_followups__run ON headrace.run_followups (run_id);`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
DROP INDEX headrace.ix_run_followups__run;
DROP TABLE headrace.retention_walks;`);
  }
}
