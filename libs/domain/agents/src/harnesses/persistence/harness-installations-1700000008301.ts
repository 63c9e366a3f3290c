import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What each processor finds installed on its machine: a row a process, as small as the table of agents is. */
export class HarnessInstallations1700000008301 implements MigrationInterface {
  name = 'HarnessInstallations1700000008301';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
CREATE TABLE headrace.harness_installations (
  instance uuid CONSTRAINT pk_harness_installations PRIMARY KEY,
  harnesses jsonb NOT NULL,
  last_seen_at timestamptz NOT NULL,
  CONSTRAINT ck_harness_installations__list CHECK (jsonb_typeof(harnesses) = 'array')
)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE headrace.harness_installations');
  }
}
