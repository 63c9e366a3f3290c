import { Injectable } from '@nestjs/common';
import { Database } from '#libs/persistence';
import type { DefinitionFile } from '../domain/definition.js';
import { DefinitionsStore } from '../persistence/definitions.store.js';

/** The skills that a factory's definition brings, for those who start its runs. */
export abstract class FactorySkills {
  /**
   * Files of the last apply, by path: `skills/…` of all agents and, for a named agent, `agents/<name>/skills/…`. Empty for
   * a factory without a definition.
   */
  abstract forAgent(factoryUid: string, agentName: string | null): Promise<readonly DefinitionFile[]>;
}

@Injectable()
export class StoredFactorySkills extends FactorySkills {
  constructor(
    private readonly database: Database,
    private readonly store: DefinitionsStore,
  ) {
    super();
  }

  override forAgent(factoryUid: string, agentName: string | null): Promise<readonly DefinitionFile[]> {
    const directories = ['skills/', ...(agentName === null ? [] : [`agents/${agentName}/skills/`])];
    return this.store.filesBelow(this.database, factoryUid, directories);
  }
}
