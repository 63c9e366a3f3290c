import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Users can be disabled. They stay, so that history keeps their names. */
export class Identity1700000010401 implements MigrationInterface {
  name = 'Identity1700000010401';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE headrace.users ADD COLUMN disabled_at timestamptz');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE headrace.users DROP COLUMN disabled_at');
  }
}
