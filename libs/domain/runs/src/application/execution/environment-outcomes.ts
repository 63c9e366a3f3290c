import { Injectable, Logger } from '@nestjs/common';
import { EnvironmentDirectory } from '#domain/environments';
import { Database, type Statement } from '#platform/persistence';

const ENVIRONMENT_OF: Statement = {
  name: 'executions.environment-of',
  text: `SELECT r.config->>'environment_id' AS uid FROM executions e JOIN runs r ON r.id = e.run_id WHERE e.id = $1`,
};

/** Tells the environments room, through its port, how the last set-up of an environment went. */
@Injectable()
export class EnvironmentOutcomes {
  private readonly logger = new Logger(EnvironmentOutcomes.name);

  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentDirectory,
  ) {}

  /** A fault here loses a hint in a list, so it is logged and the execution goes on. */
  async note(executionId: string, failed: boolean): Promise<void> {
    try {
      const [row] = await this.database.query<{ uid: string | null }>(ENVIRONMENT_OF, [executionId]);
      if (row?.uid) await this.environments.noteSetup(row.uid, failed);
    } catch (error) {
      this.logger.warn(`The set-up's outcome of execution ${executionId} was not noted: ${String(error)}`);
    }
  }
}
