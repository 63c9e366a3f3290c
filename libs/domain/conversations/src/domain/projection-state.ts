import type { ToolKind, ToolStatus } from '#execution/runner-protocol';
import type { EventName, JsonObject } from './conversation.js';

/** Plain JSON, so that it can be stored and continued. Steps hold their entries in the order of first appearance. */
export interface ProjectionState {
  /** Sequence number of the last applied event; events up to it are skipped. */
  seq: number;
  steps: StepState[];
}

export type StepKind = 'setup' | 'turn' | 'agent';

export interface StepState {
  id: string;
  kind: StepKind;
  /** 0 for a step of the conversation itself, 1 for an agent it started, … */
  depth: number;
  description?: string;
  execution_id?: string;
  started_at: string;
  completed_at?: string;
  entries: Entry[];
  steps: StepState[];
}

export type Entry =
  | { kind: 'user' | 'text' | 'thinking'; at: string; message_id?: string; text: string }
  | { kind: 'call'; at: string; call: CallState }
  | { kind: 'event'; at: string; role: 'user' | 'assistant' | 'system'; name: EventName; data: JsonObject }
  | { kind: 'lifecycle'; at: string; events: LifecycleItem[] };

export interface LifecycleItem {
  event_type: string;
  occurred_at: string;
  payload?: JsonObject;
}

/** A tool call after the upserts so far. Values are truncated on arrival. */
export interface CallState {
  id: string;
  tool_name?: string;
  title?: string;
  tool_kind?: ToolKind;
  status?: ToolStatus;
  /** A permission that it needed was refused. */
  denied?: boolean;
  input?: unknown;
  input_truncated?: boolean;
  output?: unknown;
  output_truncated?: boolean;
  content?: ContentState[];
  paths?: string[];
  /** Other events name this call as their parent. */
  delegates?: boolean;
  /** Set when the turn ended before the agent reported the end of the call. */
  closed?: 'completed' | 'failed';
}

export interface ContentState {
  type: 'text' | 'diff' | 'resource';
  text?: string;
  path?: string;
  old_text?: string | null;
  new_text?: string;
  uri?: string;
  mime_type?: string;
  size_bytes?: number;
  truncated?: boolean;
}

export const EMPTY_PROJECTION: Readonly<ProjectionState> = Object.freeze({ seq: 0, steps: [] });
