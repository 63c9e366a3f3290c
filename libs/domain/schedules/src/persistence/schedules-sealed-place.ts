import { Injectable } from '@nestjs/common';
import { Database } from '#platform/persistence';
import { type ConfigRow, configServersTable } from '#domain/runs';
import { SealedPlaces, SealedTablePlace } from '#platform/secrets';
import { secretsOf } from '../domain/schedule.js';

/** Credentials of the MCP servers of schedules, for the change of the key. */
@Injectable()
export class SchedulesPlace extends SealedTablePlace<ConfigRow> {
  constructor(places: SealedPlaces, database: Database) {
    super(places, database, configServersTable('schedules', secretsOf));
  }
}
