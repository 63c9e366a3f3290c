import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Managed secrets say what they are for. Those that a webhook uses now are for webhooks, and are no longer given to runs. */
export class SecretPurposes1700000010402 implements MigrationInterface {
  name = 'SecretPurposes1700000010402';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
ALTER TABLE headrace.managed_secrets ADD COLUMN purpose text NOT NULL DEFAULT 'run'
  CONSTRAINT ck_managed_secrets__purpose CHECK (purpose IN ('run', 'webhook'));
UPDATE headrace.managed_secrets s SET purpose = 'webhook'
 WHERE s.name LIKE 'webhook-%' OR EXISTS (
   SELECT FROM headrace.webhooks w WHERE w.team_uid = s.team_uid AND w.secret_name = s.name AND w.deleted_at IS NULL);
ALTER TABLE headrace.managed_secrets
  ADD CONSTRAINT ck_managed_secrets__webhook_names CHECK (name NOT LIKE 'webhook-%' OR purpose = 'webhook');`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE headrace.managed_secrets DROP COLUMN purpose');
  }
}
