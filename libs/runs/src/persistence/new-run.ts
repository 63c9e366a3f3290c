import type {
  AgentConfig,
  PrincipalRef,
  RunExecutionLocation,
  RunMode,
  RunOwner,
  RunSourceType,
} from '../domain/run.js';

/** A run that is about to be queued. */
export interface NewRun {
  readonly id: string;
  readonly owner: RunOwner;
  readonly pool: string;
  readonly title: string;
  readonly prompt: string;
  readonly source: RunSourceType;
  readonly executionLocation: RunExecutionLocation;
  readonly mode: RunMode;
  readonly interactive: boolean;
  readonly creator: PrincipalRef;
  readonly executor: PrincipalRef;
  readonly config: AgentConfig;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly parentRunId: string | null;
  readonly conversationId: string | null;
}
