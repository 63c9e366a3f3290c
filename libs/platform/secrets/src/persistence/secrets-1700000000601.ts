import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Managed secrets of teams. Which key a value is sealed under is a part of the sealed text. */
export class Secrets1700000000601 implements MigrationInterface {
  name = 'Secrets1700000000601';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
CREATE TABLE headrace.managed_secrets (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  team_uid text NOT NULL REFERENCES headrace.teams (uid),
  name text NOT NULL CONSTRAINT ck_managed_secrets__name CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'),
  version int NOT NULL DEFAULT 1,
  sealed text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  updated_at timestamptz NOT NULL DEFAULT headrace.now(),
  CONSTRAINT ux_managed_secrets__team_name UNIQUE (team_uid, name)
);

-- How many secrets a team has; the limit is a guarded update of its row, the last lock that anybody takes.
CREATE TABLE headrace.managed_secret_counts (
  team_uid text PRIMARY KEY REFERENCES headrace.teams (uid),
  secrets int NOT NULL CONSTRAINT ck_managed_secret_counts__secrets CHECK (secrets >= 0)
);`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE headrace.managed_secret_counts, headrace.managed_secrets');
  }
}
