import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Agent identities name managed secrets that their runs get. */
export class IdentitySecrets1700000010403 implements MigrationInterface {
  name = 'IdentitySecrets1700000010403';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE headrace.agent_identities ADD COLUMN secrets text[] NOT NULL DEFAULT '{}'`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE headrace.agent_identities DROP COLUMN secrets');
  }
}
