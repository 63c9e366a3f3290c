import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What was applied to factories: the files as they came, and what they were taken to mean. */
export class Definitions1700000006401 implements MigrationInterface {
  name = 'Definitions1700000006401';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
CREATE TABLE headrace.factory_definitions (
  factory_uid text PRIMARY KEY REFERENCES headrace.factories (uid) ON DELETE CASCADE,
  -- As in factory.yaml: what agents of the factory start with.
  agent_defaults jsonb NOT NULL CONSTRAINT ck_factory_definitions__agent_defaults CHECK (jsonb_typeof(agent_defaults) = 'object'),
  applied_by_type text NOT NULL CONSTRAINT ck_factory_definitions__applied_by CHECK (applied_by_type IN ('user', 'service_account')),
  applied_by_uid text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT headrace.now()
);

CREATE TABLE headrace.factory_files (
  factory_uid text NOT NULL REFERENCES headrace.factories (uid) ON DELETE CASCADE,
  path text COLLATE "C" NOT NULL,
  content text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT headrace.now(),
  PRIMARY KEY (factory_uid, path)
);

-- Which agent identity is which agent of the files. It may be deleted by others: the next apply makes another.
CREATE TABLE headrace.factory_agents (
  factory_uid text NOT NULL REFERENCES headrace.factories (uid) ON DELETE CASCADE,
  name text COLLATE "C" NOT NULL,
  identity_uid text NOT NULL CONSTRAINT ux_factory_agents__identity UNIQUE,
  PRIMARY KEY (factory_uid, name)
);

-- What each resource was when it was applied: whatever is otherwise now was changed by other ways than the files.
CREATE TABLE headrace.factory_resources (
  factory_uid text NOT NULL REFERENCES headrace.factories (uid) ON DELETE CASCADE,
  kind text COLLATE "C" NOT NULL CONSTRAINT ck_factory_resources__kind CHECK (kind IN ('factory', 'webhook', 'automation', 'agent')),
  name text COLLATE "C" NOT NULL,
  fingerprint text NOT NULL,
  PRIMARY KEY (factory_uid, kind, name)
);`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      'DROP TABLE headrace.factory_resources, headrace.factory_agents, headrace.factory_files, headrace.factory_definitions',
    );
  }
}
