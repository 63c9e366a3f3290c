import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Automations1700000006001 implements MigrationInterface {
  name = 'Automations1700000006001';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
CREATE TABLE headrace.automations (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  uid text NOT NULL CONSTRAINT ux_automations__uid UNIQUE CONSTRAINT ck_automations__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  factory_uid text NOT NULL REFERENCES headrace.factories (uid) ON DELETE CASCADE,
  team_uid text NOT NULL,
  name text NOT NULL CONSTRAINT ck_automations__name CHECK (btrim(name) <> ''),
  enabled boolean NOT NULL,
  prompt text NOT NULL,
  agent_config jsonb,
  agent_identity_uid text,
  source text NOT NULL CONSTRAINT ck_automations__source CHECK (source IN ('api', 'definition')),
  author_type text NOT NULL CONSTRAINT ck_automations__author CHECK (author_type IN ('user', 'service_account')),
  author_uid text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  updated_at timestamptz NOT NULL DEFAULT headrace.now()
);
CREATE INDEX ix_automations__factory_name ON headrace.automations (factory_uid, name, uid);
-- A definition names its automations by their paths.
CREATE UNIQUE INDEX ux_automations__definition ON headrace.automations (factory_uid, name) WHERE source = 'definition';

-- What an event looks for; prompts and configurations stay out of its way.
CREATE TABLE headrace.automation_triggers (
  automation_id bigint NOT NULL REFERENCES headrace.automations (id) ON DELETE CASCADE,
  position int NOT NULL CONSTRAINT ck_automation_triggers__position CHECK (position >= 0),
  factory_uid text NOT NULL,
  provider text NOT NULL,
  event text NOT NULL,
  subject text NOT NULL,
  -- As on the wire, whole.
  trigger jsonb NOT NULL,
  PRIMARY KEY (automation_id, position)
);
CREATE INDEX ix_automation_triggers__subject ON headrace.automation_triggers (factory_uid, provider, event, subject, automation_id, position);

-- Whoever makes or deletes automations of a factory takes its row first: the limit holds under concurrency.
CREATE TABLE headrace.automation_counts (
  factory_uid text PRIMARY KEY REFERENCES headrace.factories (uid) ON DELETE CASCADE,
  used int NOT NULL CONSTRAINT ck_automation_counts__used CHECK (used >= 0)
);

-- Moves with every change of a factory's automations, in the same transaction: who has read them all knows by it
-- whether they are still what they were.
CREATE TABLE headrace.automation_stamps (
  factory_uid text PRIMARY KEY REFERENCES headrace.factories (uid) ON DELETE CASCADE,
  stamp bigint NOT NULL
);
CREATE FUNCTION headrace.move_automation_stamps() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO headrace.automation_stamps (factory_uid, stamp)
  SELECT DISTINCT c.factory_uid, 1 FROM changed c JOIN headrace.factories f ON f.uid = c.factory_uid ORDER BY 1
  ON CONFLICT (factory_uid) DO UPDATE SET stamp = automation_stamps.stamp + 1;
  RETURN NULL;
END $$;
${['automations', 'automation_triggers'].map(stampTriggers).join('')}`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `DROP TABLE headrace.automation_stamps, headrace.automation_counts, headrace.automation_triggers, headrace.automations;
DROP FUNCTION headrace.move_automation_stamps();`,
    );
  }
}

/** One trigger an event: only then does it see the rows that were changed. */
const stampTriggers = (table: string): string =>
  (
    [
      ['INSERT', 'NEW'],
      ['UPDATE', 'NEW'],
      ['DELETE', 'OLD'],
    ] as const
  )
    .map(
      ([
        event,
        rows,
      ]) => `CREATE TRIGGER tr_${table}__${event.toLowerCase()}_moves_stamp AFTER ${event} ON headrace.${table}
  REFERENCING ${rows} TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION headrace.move_automation_stamps();
`,
    )
    .join('');
