import { EnumField, StringField } from '#platform/http';
import { EXECUTION_LOCATIONS, type RunExecutionLocation } from '../../domain/run.js';
import { RUN_STATES, type RunState } from '#execution/executions';
import { RunAgentRequest } from './run-requests.dto.js';

const OPTIONAL = { optional: true } as const;

/** What runs executed outside may say they come from. */
export const EXTERNAL_SOURCES = ['CLI', 'LOCAL', 'GITHUB_ACTION'] as const;
export type ExternalSource = (typeof EXTERNAL_SOURCES)[number];

export class RegisterExternalRunRequest extends RunAgentRequest {
  @EnumField(EXTERNAL_SOURCES, {
    ...OPTIONAL,
    name: 'ExternalRunSource',
    description: 'Default: CLI. With GITHUB_ACTION the default of execution_location is REMOTE, else LOCAL.',
  })
  source?: ExternalSource;
  @EnumField(EXECUTION_LOCATIONS, { ...OPTIONAL, name: 'RunExecutionLocation', description: 'Where the agent runs.' })
  execution_location?: RunExecutionLocation;
}

export class RegisterExternalRunResponse {
  @StringField({ description: 'The new run.' }) run_id: string;
  @StringField({ deprecated: true, description: 'The same as run_id.' }) task_id: string;
  @EnumField(RUN_STATES, { name: 'RunState', description: 'State of the run.' }) state: RunState;
  @StringField({ description: 'The execution to claim over the runner protocol.' }) execution_id: string;
  @StringField({ description: 'Good for this execution only, and for as long as it lives.' }) token: string;
}
