import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Permission requests get an owner, so that a person finds all that wait, and what they are about, so that an answer can
 * count for the rest of the run. Executions get the time at which their run's working time may be used up.
 */
export class Runs1700000008401 implements MigrationInterface {
  name = 'Runs1700000008401';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
ALTER TABLE headrace.approvals
  ADD COLUMN slot_key text,
  ADD COLUMN subject jsonb,
  ADD COLUMN always boolean NOT NULL DEFAULT false,
  ADD COLUMN rule_id text,
  DROP CONSTRAINT ck_approvals__decided_via,
  ADD CONSTRAINT ck_approvals__decided_via CHECK (decided_via IN ('user','rule','timeout','cancel')),
  ADD CONSTRAINT ck_approvals__always CHECK (NOT always OR (state = 'allowed' AND decided_via = 'user'));
UPDATE headrace.approvals a SET slot_key = r.slot_key FROM headrace.runs r WHERE r.id = a.run_id;

CREATE FUNCTION headrace.own_approval() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT slot_key INTO NEW.slot_key FROM headrace.runs WHERE id = NEW.run_id;
  RETURN NEW;
END $$;
CREATE TRIGGER tr_approvals__owner BEFORE INSERT ON headrace.approvals
  FOR EACH ROW WHEN (NEW.slot_key IS NULL) EXECUTE FUNCTION headrace.own_approval();
ALTER TABLE headrace.approvals ALTER COLUMN slot_key SET NOT NULL;
CREATE INDEX ix_approvals__owner ON headrace.approvals (slot_key, state, requested_at, run_id, id);

ALTER TABLE headrace.executions ADD COLUMN ceiling_at timestamptz;
CREATE INDEX ix_executions__ceiling ON headrace.executions (ceiling_at) WHERE ceiling_at IS NOT NULL;`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
DROP INDEX headrace.ix_executions__ceiling;
ALTER TABLE headrace.executions DROP COLUMN ceiling_at;
DROP INDEX headrace.ix_approvals__owner;
DROP TRIGGER tr_approvals__owner ON headrace.approvals;
DROP FUNCTION headrace.own_approval();
UPDATE headrace.approvals SET decided_via = 'user' WHERE decided_via = 'rule';
ALTER TABLE headrace.approvals
  DROP CONSTRAINT ck_approvals__always,
  DROP CONSTRAINT ck_approvals__decided_via,
  ADD CONSTRAINT ck_approvals__decided_via CHECK (decided_via IN ('user','timeout','cancel')),
  DROP COLUMN slot_key, DROP COLUMN subject, DROP COLUMN always, DROP COLUMN rule_id;`);
  }
}
