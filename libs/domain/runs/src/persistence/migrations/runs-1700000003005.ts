import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Files that a run was created with, and the ways from a conversation and from an agent's session to their runs. */
export class Runs1700000003005 implements MigrationInterface {
  name = 'Runs1700000003005';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
CREATE TABLE headrace.run_attachments (
  id uuid PRIMARY KEY,
  run_id uuid NOT NULL REFERENCES headrace.runs (id) ON DELETE CASCADE,
  position smallint NOT NULL,
  file_name text NOT NULL,
  mime_type text NOT NULL,
  size_bytes bigint NOT NULL CONSTRAINT ck_run_attachments__size CHECK (size_bytes >= 0),
  object_key text NOT NULL,
  created_at timestamptz NOT NULL,
  CONSTRAINT uq_run_attachments__position UNIQUE (run_id, position)
);
CREATE INDEX ix_runs__conversation ON headrace.runs (conversation_id, created_at, id) WHERE conversation_id IS NOT NULL;
-- A hash: agents choose these ids, of any length.
CREATE INDEX ix_runs__session ON headrace.runs USING hash (session_id) WHERE session_id IS NOT NULL;`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
DROP INDEX headrace.ix_runs__session, headrace.ix_runs__conversation;
DROP TABLE headrace.run_attachments;`);
  }
}
