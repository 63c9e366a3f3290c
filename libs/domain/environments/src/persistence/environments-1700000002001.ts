import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Environments1700000002001 implements MigrationInterface {
  name = 'Environments1700000002001';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
CREATE TABLE headrace.environments (
  uid text PRIMARY KEY CONSTRAINT ck_environments__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  team_uid text REFERENCES headrace.teams (uid),
  owner_user_uid text REFERENCES headrace.users (uid),
  config jsonb NOT NULL CONSTRAINT ck_environments__config CHECK (jsonb_typeof(config) = 'object'),
  setup_failed boolean NOT NULL DEFAULT false,
  creator_type text NOT NULL,
  creator_uid text NOT NULL,
  editor_type text NOT NULL,
  editor_uid text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  updated_at timestamptz NOT NULL DEFAULT headrace.now(),
  CONSTRAINT ck_environments__one_owner CHECK (num_nonnulls(team_uid, owner_user_uid) = 1)
);
CREATE INDEX ix_environments__team ON headrace.environments (team_uid, updated_at) WHERE team_uid IS NOT NULL;
CREATE INDEX ix_environments__owner ON headrace.environments (owner_user_uid, updated_at) WHERE owner_user_uid IS NOT NULL;`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE headrace.environments');
  }
}
