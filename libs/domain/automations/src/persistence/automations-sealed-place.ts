import { Injectable } from '@nestjs/common';
import { Database } from '#platform/persistence';
import { type ConfigRow, configServersTable } from '#domain/runs';
import { SealedPlaces, SealedTablePlace } from '#platform/secrets';
import { secretsOf } from '../domain/automation.js';

/** Credentials of the MCP servers of automations, for the change of the key. `version` stays: what runs get is the same. */
@Injectable()
export class AutomationsPlace extends SealedTablePlace<ConfigRow> {
  constructor(places: SealedPlaces, database: Database) {
    super(places, database, configServersTable('automations', secretsOf));
  }
}
