import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Columns of runs that the whole contract needs: ancestry, what started a run, what its agent has used. */
export class Runs1700000003002 implements MigrationInterface {
  name = 'Runs1700000003002';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
ALTER TABLE headrace.runs
  ADD COLUMN environment_id text GENERATED ALWAYS AS (config->>'environment_id') STORED,
  ADD COLUMN ancestor_run_ids uuid[] NOT NULL DEFAULT '{}',
  ADD COLUMN schedule jsonb,
  ADD COLUMN trigger_url text,
  ADD COLUMN usage jsonb;
WITH RECURSIVE lineage AS (
  SELECT id, ARRAY[]::uuid[] AS ancestors FROM headrace.runs WHERE parent_run_id IS NULL
  UNION ALL
  SELECT r.id, l.ancestors || l.id FROM headrace.runs r JOIN lineage l ON r.parent_run_id = l.id
)
UPDATE headrace.runs r SET ancestor_run_ids = l.ancestors FROM lineage l WHERE r.id = l.id AND r.parent_run_id IS NOT NULL;`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
ALTER TABLE headrace.runs DROP COLUMN environment_id, DROP COLUMN ancestor_run_ids, DROP COLUMN schedule,
  DROP COLUMN trigger_url, DROP COLUMN usage;`);
  }
}
