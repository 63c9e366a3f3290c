import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What executions and artifacts have used of their limits, kept by the server whatever a runner does. */
export class Runs1700000010502 implements MigrationInterface {
  name = 'Runs1700000010502';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
-- Bytes of the events that its runner has reported.
ALTER TABLE headrace.executions ADD COLUMN output_bytes bigint NOT NULL DEFAULT 0;
-- Of the stored object.
ALTER TABLE headrace.artifacts ADD COLUMN size_bytes bigint NOT NULL DEFAULT 0;
UPDATE headrace.artifacts SET size_bytes = (data->>'size_bytes')::bigint WHERE data ? 'size_bytes';`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
ALTER TABLE headrace.artifacts DROP COLUMN size_bytes;
ALTER TABLE headrace.executions DROP COLUMN output_bytes;`);
  }
}
