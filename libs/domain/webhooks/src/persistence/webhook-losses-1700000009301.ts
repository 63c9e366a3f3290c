import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Attempts to evaluate a delivery are counted when it is taken, so that those count that nobody lives to record. */
export class WebhookLosses1700000009301 implements MigrationInterface {
  name = 'WebhookLosses1700000009301';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
-- Attempts of which no end was recorded: one more when the delivery is taken, one less when its end is recorded.
ALTER TABLE headrace.webhook_deliveries ADD COLUMN evaluation_losses smallint NOT NULL DEFAULT 0;`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE headrace.webhook_deliveries DROP COLUMN evaluation_losses');
  }
}
