import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How far the runs were looked through for what an older version leaves out: to the run with this id. One row. */
export class Runs1700000003007 implements MigrationInterface {
  name = 'Runs1700000003007';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
CREATE TABLE headrace.facet_repairs (
  only_row boolean PRIMARY KEY DEFAULT true CONSTRAINT ck_facet_repairs__one CHECK (only_row),
  upto uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
);
INSERT INTO headrace.facet_repairs DEFAULT VALUES;`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE headrace.facet_repairs;');
  }
}
