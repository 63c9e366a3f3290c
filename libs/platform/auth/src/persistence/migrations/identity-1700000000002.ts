import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a team sets for its runs, and service accounts that have ended. */
export class Identity1700000000002 implements MigrationInterface {
  name = 'Identity1700000000002';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
ALTER TABLE headrace.teams
  ADD COLUMN default_model_id text CONSTRAINT ck_teams__default_model_id CHECK (btrim(default_model_id) <> ''),
  ADD COLUMN default_worker_host text CONSTRAINT ck_teams__default_worker_host CHECK (btrim(default_worker_host) <> ''),
  ADD COLUMN metadata_filter boolean NOT NULL DEFAULT true,
  ADD COLUMN schedules boolean NOT NULL DEFAULT true;
ALTER TABLE headrace.service_accounts ADD COLUMN disabled_at timestamptz;`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
ALTER TABLE headrace.service_accounts DROP COLUMN disabled_at;
ALTER TABLE headrace.teams
  DROP COLUMN default_model_id, DROP COLUMN default_worker_host, DROP COLUMN metadata_filter, DROP COLUMN schedules;`);
  }
}
