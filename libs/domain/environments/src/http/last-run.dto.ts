import { DateTimeField, EnumField, StringField } from '#platform/http';
import { LAST_RUN_STATES, type LastRunState } from '../domain/last-run.js';

/** The contract's `last_task_created`. */
export class EnvironmentLastRun {
  @StringField({ description: 'The run’s id.' }) id: string;
  @StringField({ description: 'Title of the run.' }) title: string;
  @EnumField(LAST_RUN_STATES, { name: 'RunState', description: 'State of the run.' }) state: LastRunState;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ description: 'Time of the last change.' }) updated_at: string;
  @DateTimeField({
    optional: true,
    nullable: true,
    description: 'Time at which the agent was first started; null before that.',
  })
  started_at?: string | null;
}
