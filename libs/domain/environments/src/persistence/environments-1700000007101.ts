import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Sharing: grants to people and teams, and links with those who came by them. What hangs on an environment goes with it,
 * and access by a link goes with the link. A holder's environment repeats that of the link, so that lists need no join.
 */
export class Environments1700000007101 implements MigrationInterface {
  name = 'Environments1700000007101';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
CREATE TABLE headrace.environment_grants (
  uid text PRIMARY KEY CONSTRAINT ck_environment_grants__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  environment_uid text NOT NULL REFERENCES headrace.environments (uid) ON DELETE CASCADE,
  user_uid text REFERENCES headrace.users (uid) ON DELETE CASCADE,
  team_uid text REFERENCES headrace.teams (uid) ON DELETE CASCADE,
  access text NOT NULL DEFAULT 'use' CONSTRAINT ck_environment_grants__access CHECK (access = 'use'),
  creator_type text NOT NULL,
  creator_uid text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  CONSTRAINT ck_environment_grants__one_grantee CHECK (num_nonnulls(user_uid, team_uid) = 1),
  CONSTRAINT uq_environment_grants__user UNIQUE (environment_uid, user_uid),
  CONSTRAINT uq_environment_grants__team UNIQUE (environment_uid, team_uid)
);
CREATE INDEX ix_environment_grants__user ON headrace.environment_grants (user_uid);
CREATE INDEX ix_environment_grants__team ON headrace.environment_grants (team_uid);
CREATE TABLE headrace.environment_links (
  uid text PRIMARY KEY CONSTRAINT ck_environment_links__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  environment_uid text NOT NULL REFERENCES headrace.environments (uid) ON DELETE CASCADE,
  token_hash bytea NOT NULL CONSTRAINT uq_environment_links__token_hash UNIQUE
    CONSTRAINT ck_environment_links__token_hash CHECK (octet_length(token_hash) = 32),
  expires_at timestamptz,
  max_uses int CONSTRAINT ck_environment_links__max_uses CHECK (max_uses > 0),
  uses int NOT NULL DEFAULT 0,
  creator_type text NOT NULL,
  creator_uid text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  CONSTRAINT ck_environment_links__uses CHECK (uses >= 0 AND (max_uses IS NULL OR uses <= max_uses)),
  CONSTRAINT uq_environment_links__environment UNIQUE (environment_uid, uid)
);
CREATE TABLE headrace.environment_link_holders (
  link_uid text NOT NULL,
  environment_uid text NOT NULL,
  user_uid text NOT NULL REFERENCES headrace.users (uid) ON DELETE CASCADE,
  redeemed_at timestamptz NOT NULL DEFAULT headrace.now(),
  PRIMARY KEY (link_uid, user_uid),
  CONSTRAINT fk_environment_link_holders__link FOREIGN KEY (environment_uid, link_uid)
    REFERENCES headrace.environment_links (environment_uid, uid) ON DELETE CASCADE
);
CREATE INDEX ix_environment_link_holders__link ON headrace.environment_link_holders (environment_uid, link_uid);
CREATE INDEX ix_environment_link_holders__user ON headrace.environment_link_holders (user_uid, environment_uid);`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      'DROP TABLE headrace.environment_link_holders, headrace.environment_links, headrace.environment_grants',
    );
  }
}
