import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Identities that a factory's definition has made: two factories of a team may both have a foreman. */
export class Agents1700000006301 implements MigrationInterface {
  name = 'Agents1700000006301';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
ALTER TABLE headrace.agent_identities ADD COLUMN factory_uid text;
CREATE UNIQUE INDEX ux_agent_identities__team_factory_name
  ON headrace.agent_identities (team_uid, coalesce(factory_uid, ''), lower(name));
DROP INDEX headrace.ux_agent_identities__team_name;`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
CREATE UNIQUE INDEX ux_agent_identities__team_name ON headrace.agent_identities (team_uid, lower(name));
DROP INDEX headrace.ux_agent_identities__team_factory_name;
ALTER TABLE headrace.agent_identities DROP COLUMN factory_uid;`);
  }
}
