import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What runs have produced. `slot_key` and `run_created_at` repeat the run's owner and time, which never change, so that
 * "which of my runs refers to this address, the newest" is one probe of one index whoever else refers to it.
 */
export class Runs1700000003004 implements MigrationInterface {
  name = 'Runs1700000003004';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
CREATE TABLE headrace.artifacts (
  uid text PRIMARY KEY,
  run_id uuid NOT NULL REFERENCES headrace.runs (id) ON DELETE CASCADE,
  slot_key text NOT NULL,
  execution_id bigint,
  source_key text NOT NULL,
  artifact_type text NOT NULL CONSTRAINT ck_artifacts__type CHECK (artifact_type IN
    ('PLAN','PULL_REQUEST','SCREENSHOT','FILE','EXTERNAL_REFERENCE')),
  data jsonb NOT NULL,
  object_key text,
  locator text,
  run_created_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  CONSTRAINT uq_artifacts__source UNIQUE (run_id, source_key),
  CONSTRAINT ck_artifacts__content CHECK ((object_key IS NOT NULL) = (artifact_type IN ('PLAN','SCREENSHOT','FILE'))),
  CONSTRAINT ck_artifacts__locator CHECK ((locator IS NOT NULL) = (artifact_type = 'EXTERNAL_REFERENCE'))
);
CREATE INDEX ix_artifacts__run ON headrace.artifacts (run_id, created_at, uid);
CREATE INDEX ix_artifacts__type ON headrace.artifacts (slot_key, artifact_type, run_id);
CREATE INDEX ix_artifacts__locator ON headrace.artifacts (md5(locator), slot_key, run_created_at, run_id)
  WHERE locator IS NOT NULL;`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE headrace.artifacts;');
  }
}
