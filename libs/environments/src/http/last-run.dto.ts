import { DateTimeField, EnumField, StringField } from '#libs/http';
import { LAST_RUN_STATES, type LastRunState } from '../domain/last-run.js';

/** The contract's `last_task_created`. */
export class EnvironmentLastRun {
  @StringField({ description: 'The run’s id.' }) id: string;
  @StringField() title: string;
  @EnumField(LAST_RUN_STATES, { name: 'RunState' }) state: LastRunState;
  @DateTimeField() created_at: string;
  @DateTimeField() updated_at: string;
  @DateTimeField({ optional: true, nullable: true }) started_at?: string | null;
}
