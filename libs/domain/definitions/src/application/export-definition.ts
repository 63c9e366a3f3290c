import { Injectable } from '@nestjs/common';
import type { Factory } from '#domain/factories';
import { Database } from '#platform/persistence';
import type { DefinitionFile } from '../domain/definition.js';
import { exportFiles } from '../domain/export.js';
import { FactoryState } from './factory-state.js';

/** What a factory is now, as files. What was made through the API is no part of its definition. */
@Injectable()
export class ExportDefinition {
  constructor(
    private readonly database: Database,
    private readonly state: FactoryState,
  ) {}

  execute(factory: Factory): Promise<DefinitionFile[]> {
    return this.database.transaction(async (tx) => {
      // Of one moment, whatever is applied meanwhile.
      await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      return exportFiles(await this.state.read(tx, factory, { held: false }));
    });
  }
}
