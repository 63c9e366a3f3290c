import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Stored projections. No foreign key to the run: they are a cache of its log and go with it when it is pruned. */
export class Conversations1700000004001 implements MigrationInterface {
  name = 'Conversations1700000004001';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
CREATE TABLE headrace.conversation_folds (
  run_id uuid NOT NULL,
  format text NOT NULL,
  format_version int NOT NULL,
  turn int NOT NULL CONSTRAINT ck_conversation_folds__turn CHECK (turn >= 0),
  upto_seq bigint NOT NULL CONSTRAINT ck_conversation_folds__upto_seq CHECK (upto_seq > 0),
  fold jsonb NOT NULL,
  CONSTRAINT pk_conversation_folds PRIMARY KEY (run_id, format, format_version, turn)
)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE headrace.conversation_folds');
  }
}
