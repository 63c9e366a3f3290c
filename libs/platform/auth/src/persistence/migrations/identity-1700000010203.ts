import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Service accounts that are agent identities: what an agent acts as, which may less than an operator's account. */
export class Identity1700000010203 implements MigrationInterface {
  name = 'Identity1700000010203';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      'ALTER TABLE headrace.service_accounts ADD COLUMN is_agent_identity boolean NOT NULL DEFAULT false',
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE headrace.service_accounts DROP COLUMN is_agent_identity');
  }
}
