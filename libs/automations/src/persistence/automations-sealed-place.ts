import { Injectable } from '@nestjs/common';
import { Database } from '#libs/persistence';
import { type ConfigRow, configServersTable } from '#libs/runs';
import { SealedPlaces, SealedTablePlace } from '#libs/secrets';
import { secretsOf } from '../domain/automation.js';

/** Credentials of the MCP servers of automations, for the change of the key. `version` stays: what runs get is the same. */
@Injectable()
export class AutomationsPlace extends SealedTablePlace<ConfigRow> {
  constructor(places: SealedPlaces, database: Database) {
    super(places, database, configServersTable('automations', secretsOf));
  }
}
