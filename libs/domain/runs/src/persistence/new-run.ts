import type { NewAttachment } from '../domain/attachment.js';
import type { AgentConfig, PrincipalRef, RunOwner } from '#execution/executions';
import type { RunExecutionLocation, RunMode, RunSchedule, RunSkill, RunSourceType } from '../domain/run.js';

/** An earlier run's conversation that the new run goes on with; the transcript is a copy of its own. */
export interface ContinuedConversation {
  readonly conversationId: string;
  readonly sessionId: string | null;
  readonly transcript: object | null;
}

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
  readonly skill: RunSkill | null;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly parentRunId: string | null;
  /** Oldest first; the parent is the last one. */
  readonly ancestorRunIds: readonly string[];
  readonly continues: ContinuedConversation | null;
  readonly schedule: RunSchedule | null;
  readonly triggerUrl: string | null;
  /** Their bytes are in the object store already. */
  readonly attachments: readonly NewAttachment[];
}
