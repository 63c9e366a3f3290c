import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Objects that nothing points to any more and that go away later. A name that ends with `/` is everything below it. */
export class Storage1700000000501 implements MigrationInterface {
  name = 'Storage1700000000501';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
CREATE TABLE headrace.discarded_objects (
  name text PRIMARY KEY,
  delete_after timestamptz NOT NULL
);
CREATE INDEX ix_discarded_objects__due ON headrace.discarded_objects (delete_after);`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE headrace.discarded_objects;`);
  }
}
