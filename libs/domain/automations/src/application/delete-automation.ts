import { Injectable } from '@nestjs/common';
import { Database } from '#platform/persistence';
import type { DeleteAutomationResult } from './automation-outcomes.js';
import { AutomationWrites } from './automation-writes.js';
import type { TriggerScope } from './trigger-provider.js';

/** No event starts it any more; runs that it has started go on. */
@Injectable()
export class DeleteAutomation {
  constructor(
    private readonly database: Database,
    private readonly writes: AutomationWrites,
  ) {}

  async execute({ factoryUid }: TriggerScope, uid: string): Promise<DeleteAutomationResult> {
    const deleted = await this.database.transaction((tx) => this.writes.delete(tx, factoryUid, uid));
    return deleted ? { kind: 'deleted' } : { kind: 'unknown' };
  }
}
