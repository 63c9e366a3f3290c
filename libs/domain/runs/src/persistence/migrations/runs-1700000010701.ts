import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Pull requests are found by their address, as external references are. */
export class Runs1700000010701 implements MigrationInterface {
  name = 'Runs1700000010701';

  async up(queryRunner: QueryRunner): Promise<void> {
    // What agents report is canonical but for slashes at the end of the path, a query or a fragment, which pull requests
    // do not have.
    await queryRunner.query(`
ALTER TABLE headrace.artifacts
  DROP CONSTRAINT ck_artifacts__locator,
  ADD CONSTRAINT ck_artifacts__locator CHECK (locator IS NULL OR artifact_type IN ('PULL_REQUEST','EXTERNAL_REFERENCE')),
  ADD CONSTRAINT ck_artifacts__reference CHECK (artifact_type <> 'EXTERNAL_REFERENCE' OR locator IS NOT NULL);
UPDATE headrace.artifacts SET locator = rtrim(data->>'url', '/') WHERE artifact_type = 'PULL_REQUEST';`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
UPDATE headrace.artifacts SET locator = NULL WHERE artifact_type = 'PULL_REQUEST';
ALTER TABLE headrace.artifacts
  DROP CONSTRAINT ck_artifacts__reference,
  DROP CONSTRAINT ck_artifacts__locator,
  ADD CONSTRAINT ck_artifacts__locator CHECK ((locator IS NOT NULL) = (artifact_type = 'EXTERNAL_REFERENCE'));`);
  }
}
