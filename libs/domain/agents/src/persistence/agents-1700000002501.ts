import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Agent identities and registered MCP servers. */
export class Agents1700000002501 implements MigrationInterface {
  name = 'Agents1700000002501';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
CREATE TABLE headrace.agent_identities (
  uid text PRIMARY KEY REFERENCES headrace.service_accounts (uid),
  team_uid text NOT NULL REFERENCES headrace.teams (uid),
  name text NOT NULL CONSTRAINT ck_agent_identities__name CHECK (btrim(name) <> ''),
  description text,
  prompt text,
  environment_id text,
  default_runner_uid text NOT NULL DEFAULT '',
  worker_host text,
  base_model text,
  harness jsonb,
  skills text[] NOT NULL DEFAULT '{}',
  mcp_servers jsonb CONSTRAINT ck_agent_identities__mcp_servers CHECK (jsonb_typeof(mcp_servers) = 'object'),
  auto_memory boolean NOT NULL DEFAULT false,
  available boolean NOT NULL DEFAULT true,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  updated_at timestamptz NOT NULL DEFAULT headrace.now()
);
CREATE UNIQUE INDEX ux_agent_identities__team_name ON headrace.agent_identities (team_uid, lower(name));
CREATE TABLE headrace.mcp_servers (
  uid text PRIMARY KEY CONSTRAINT ck_mcp_servers__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  team_uid text NOT NULL REFERENCES headrace.teams (uid),
  name text NOT NULL CONSTRAINT ck_mcp_servers__name CHECK (btrim(name) <> ''),
  description text,
  config jsonb NOT NULL CONSTRAINT ck_mcp_servers__one_way CHECK ((config ? 'command') <> (config ? 'url')),
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  updated_at timestamptz NOT NULL DEFAULT headrace.now()
);
CREATE UNIQUE INDEX ux_mcp_servers__team_name ON headrace.mcp_servers (team_uid, lower(name));`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE headrace.mcp_servers, headrace.agent_identities');
  }
}
