import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Marks the service accounts of the agent identities that exist. New ones are created with the mark. */
export class Agents1700000010204 implements MigrationInterface {
  name = 'Agents1700000010204';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      'UPDATE headrace.service_accounts s SET is_agent_identity = true FROM headrace.agent_identities i WHERE i.uid = s.uid',
    );
  }

  async down(): Promise<void> {
    // The column goes with the migration that added it.
  }
}
