import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Keys of runs that something of ours has started: remembered for as long as it may be tried again. */
export class Runs1700000006101 implements MigrationInterface {
  name = 'Runs1700000006101';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      'ALTER TABLE headrace.idempotency_keys ADD COLUMN is_launch boolean NOT NULL DEFAULT false',
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE headrace.idempotency_keys DROP COLUMN is_launch');
  }
}
