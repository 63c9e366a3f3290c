import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import { RunDataOwner, RunDataOwners } from '#domain/runs';
import { ConversationFolds } from '../persistence/conversation-folds.js';

/** Folds go with the log that they were made from. */
@Injectable()
export class FoldRemoval extends RunDataOwner implements OnModuleInit {
  constructor(
    private readonly owners: RunDataOwners,
    private readonly folds: ConversationFolds,
  ) {
    super();
  }

  onModuleInit(): void {
    this.owners.register(this);
  }

  override removeRuns(tx: Queryable, runIds: readonly string[]): Promise<void> {
    return this.folds.remove(tx, runIds);
  }

  override removeLogs(tx: Queryable, runIds: readonly string[]): Promise<void> {
    return this.folds.remove(tx, runIds);
  }
}
