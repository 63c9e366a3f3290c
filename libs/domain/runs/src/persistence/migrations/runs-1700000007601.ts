import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The skill that a run was created with, as it was then. Runs of older versions have none: their specs were not resolved. */
export class Runs1700000007601 implements MigrationInterface {
  name = 'Runs1700000007601';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE headrace.runs ADD COLUMN agent_skill jsonb');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE headrace.runs DROP COLUMN agent_skill');
  }
}
