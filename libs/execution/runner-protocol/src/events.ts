import type { SnapshotReason } from './snapshot.js';

/**
 * The kinds of run event. The append-only log of events is the source of truth of a run; conversation and timeline are
 * projections of it. `at` and the sequence of the run are the server's; `source_seq` is the runner's and only deduplicates.
 */

/** Events that are also timeline entries. Those marked (server) are written by the control plane only. */
export const LIFECYCLE_KINDS = [
  'run_created', // (server)
  'run_claimed', // (server)
  'sandbox_ready', // {}
  'workspace_restored', // WorkspaceRestored
  'workspace_snapshot', // WorkspaceSnapshot: from now on the snapshot exists
  'workspace_snapshot_failed', // WorkspaceSnapshotFailed; the last snapshot stays
  'setup_started', // {commands: number}
  'setup_command_finished', // SetupCommandFinished
  'session_started', // SessionStarted
  'agent_started', // {harness, pid?}: the agent is about to get its first prompt; moves the run to INPROGRESS
  'git_credential_requested', // GitCredentialRequested
  'agent_waiting', // AgentWaiting: the agent makes no progress; the run's status_message says why
  'agent_resumed', // {}: the agent makes progress again
  'run_done', // (server)
  'run_blocked', // (server)
  'run_cancelled', // (server)
  'interrupt_requested', // (server) InterruptRequested
  'run_interrupted', // (server) InterruptRequested: the turn has ended because of the request
  'interrupt_failed', // (server) InterruptFailed
  'run_failed', // (server)
  'run_errored', // (server)
  'followup_received', // (server)
  'answer_failed', // (server) {provider, target, parts, message}: not written on the issue or pull request
  'permission_decided', // PermissionDecided; by the server for people and time-outs, by the runner for policies
  'sandbox_shutdown', // (server) {reason}
] as const;

/** Events that make the conversation. */
export const CONVERSATION_KINDS = [
  'turn_started',
  'message_chunk',
  'thought_chunk',
  'tool_call',
  'plan',
  'mode_changed',
  'usage',
  'permission_requested',
  'turn_ended',
  'output_truncated',
] as const;

export type LifecycleKind = (typeof LIFECYCLE_KINDS)[number];
export type ConversationKind = (typeof CONVERSATION_KINDS)[number];
export type RunEventKind = LifecycleKind | ConversationKind;

/** Events that a runner may report; all others are written by the server. */
export const RUNNER_KINDS = [
  'sandbox_ready',
  'workspace_restored',
  'workspace_snapshot',
  'workspace_snapshot_failed',
  'setup_started',
  'setup_command_finished',
  'session_started',
  'agent_started',
  'git_credential_requested',
  'agent_waiting',
  'agent_resumed',
  'permission_decided',
  ...CONVERSATION_KINDS,
  'setup_failed', // SetupFailed; stored as run_failed
] as const satisfies readonly (RunEventKind | 'setup_failed')[];
export type RunnerEventKind = (typeof RUNNER_KINDS)[number];

export const isRunnerEventKind = (kind: string): kind is RunnerEventKind =>
  (RUNNER_KINDS as readonly string[]).includes(kind);

/** Kinds that only the control plane writes. */
export const isServerEventKind = (kind: string): boolean =>
  (LIFECYCLE_KINDS as readonly string[]).includes(kind) && !isRunnerEventKind(kind);

/** A user asked for the end of a turn. The session continues after it. */
export interface InterruptRequested {
  turn_id: string;
  principal: { type: string; uid: string };
}

/** `agent`: the execution ends, because its agent does not answer. `runner`: nothing follows, the turn continues. */
export interface InterruptFailed {
  turn_id: string;
  unanswered_by: 'agent' | 'runner';
  message: string;
}

export interface WorkspaceRestored {
  snapshot_id: string;
  /** Files, directories and links. */
  entries: number;
  size_bytes: number;
  duration_ms: number;
  /** What could not be restored, a sentence each. */
  problems?: string[];
}

/** A stored snapshot, as the control plane answered it. */
export interface WorkspaceSnapshot {
  snapshot_id: string;
  reason: SnapshotReason;
  /** Files, directories and links. */
  entries: number;
  /** Of all files. */
  size_bytes: number;
  /** Sent for this snapshot. */
  stored_bytes: number;
  /** From the start until it was stored; the runner adds it to the answer. Absent: an earlier runner. */
  duration_ms?: number;
  /** What is missing in it, a sentence each. */
  problems?: readonly string[];
}

export interface WorkspaceSnapshotFailed {
  /** A sentence for people. */
  message: string;
}

export interface SetupCommandFinished {
  index: number;
  command: string;
  /** 128 + signal for a killed command, as shells count. */
  exit_code: number;
  duration_ms: number;
  /** stdout and stderr interleaved, the last 16 KB. */
  output: string;
  output_truncated?: boolean;
}

/** The set-up failed, and the runner keeps the workspace for `failure_session_retention_minutes` (the debug window). */
export interface SetupFailed {
  /** For the run's `status_message`. */
  message: string;
  exit_code?: number;
}

export interface SessionStarted {
  /** The agent's own session id. */
  session_id: string;
  agent_name?: string;
  agent_version?: string;
  /** true when an earlier session was loaded. */
  resumed: boolean;
  /** Settings of the run that the agent does not support, a sentence each. */
  warnings?: string[];
}

/**
 * git in the workspace has asked for the credential of a repository, or `gh` or `glab` has sent a request to the API of its server, such
 * as `GET /repos/acme/app/pulls/7` (`request`). `message`: why the request was refused, or why the credential of a repository of the
 * run could not be replaced after its expiry.
 */
export interface GitCredentialRequested {
  url: string;
  /** false: the run has no credential for it. */
  granted: boolean;
  request?: string;
  message?: string;
}

/** Why the agent makes no progress, such as a rate limit of its model. `detail`: output of the agent. */
export interface AgentWaiting {
  message: string;
  detail?: string;
}

/** A prompt was sent to the agent. The first one of a run has no follow-up id. */
export interface TurnStarted {
  turn_id: string;
  prompt: string;
  followup_id?: string;
  mode?: string;
  /** Files that the agent got with the prompt. */
  attachments?: { file_name: string; mime_type: string; size_bytes: number }[];
}

/** Shaped like ACP tool kinds. */
export const TOOL_KINDS = [
  'read',
  'edit',
  'delete',
  'move',
  'search',
  'execute',
  'think',
  'fetch',
  'switch_mode',
  'other',
] as const;
export type ToolKind = (typeof TOOL_KINDS)[number];
export const TOOL_STATUSES = ['pending', 'in_progress', 'completed', 'failed'] as const;
export type ToolStatus = (typeof TOOL_STATUSES)[number];

export interface ToolContent {
  type: 'text' | 'diff' | 'terminal' | 'resource';
  /** type text, terminal: the text. */
  text?: string;
  /** type diff. */
  path?: string;
  old_text?: string | null;
  new_text?: string;
  /** type resource: a summary of content that is not stored. */
  uri?: string;
  mime_type?: string;
  size_bytes?: number;
}

/** Upsert by `tool_call_id`: an absent key leaves the value, null clears it. */
export interface ToolCall {
  tool_call_id: string;
  /** Name of the tool, where the agent reports it (`Bash`, `Skill`, `mcp__…`). */
  tool_name?: string | null;
  title?: string | null;
  tool_kind?: ToolKind;
  status?: ToolStatus;
  /** true when the status `failed` means that a permission was denied. */
  denied?: boolean;
  input?: unknown;
  output?: unknown;
  content?: ToolContent[] | null;
  locations?: { path: string; line?: number }[] | null;
  /** The tool call that this one was delegated by (sub-agent). */
  parent_tool_call_id?: string | null;
}

export interface Plan {
  entries: { content: string; status: 'pending' | 'in_progress' | 'completed'; priority?: string }[];
}

export interface Usage {
  input_tokens?: number;
  output_tokens?: number;
  total_tokens?: number;
  cost_usd?: number;
}

/** `question`: the agent asks a person by the tool `ask_person`. No policy and no rule answers it. */
export const APPROVAL_KINDS = ['permission', 'question'] as const;
export type ApprovalKind = (typeof APPROVAL_KINDS)[number];

export interface PermissionRequested {
  approval_id: string;
  /** Default: `permission`. */
  kind?: ApprovalKind;
  tool_call_id?: string;
  /** Of a question: its text. */
  title: string;
  input?: unknown;
  options: { option_id: string; name: string; kind: string }[];
  /** Of a question: it may be answered with a text. */
  allow_text?: boolean;
  /** true: a person is asked and the run is BLOCKED until the answer. false: policy or rule decides; `permission_decided` follows. */
  ask: boolean;
  /** Subject of the request, for "allow always"; default: the title. */
  subject?: PermissionSubject;
}

export const PERMISSION_SUBJECTS = ['command', 'address', 'tool', 'kind', 'title'] as const;

/** A decision for always covers exactly the requests with the same subject in all fields. See docs/approvals.md. */
export interface PermissionSubject {
  type: (typeof PERMISSION_SUBJECTS)[number];
  /** The command line, the origin of the address, the tool's name, the kind, or the request's title. */
  value: string;
  /** Name of the tool, with a command or an address, where the agent reports it. */
  tool?: string;
  /** Where the command is executed, where the agent reports it. */
  directory?: string;
  /** Of what the input of the command contains beside it, as far as it can change what the command does. */
  input_sha256?: string;
}

/** The answer to a question: an option, a text, or both. */
export interface QuestionAnswer {
  option_id?: string;
  /** The text of the option. */
  option?: string;
  text?: string;
}

export interface PermissionDecided {
  approval_id: string;
  /** Default: `permission`. */
  kind?: ApprovalKind;
  /** Questions are answered, or denied if they get no answer. */
  decision: 'allow' | 'deny' | 'answer';
  /** With the decision `answer`. */
  answer?: QuestionAnswer;
  /** `channel`: a signed decision in a message. */
  by: 'policy' | 'rule' | 'user' | 'timeout' | 'cancel' | 'channel';
  /** The decision applies for the rest of the run. */
  always?: boolean;
  /** With `by: 'rule'`: the approval that created the rule. */
  rule_id?: string;
  note?: string;
  title?: string;
  /** `name`: with `by: 'channel'`. */
  principal?: { type: string; uid: string; name?: string };
}

/** Neither the fault of the platform nor of the environment. All but the first come from the agent's model provider. */
export const AGENT_FAILURE_CODES = [
  'agent_process_failed',
  'rate_limited',
  'external_authentication_required',
  'insufficient_credits',
] as const;
export type AgentFailureCode = (typeof AGENT_FAILURE_CODES)[number];

/** Why an agent failed. `message`: a sentence; `detail`: the vendor's output, without paths and stack traces. */
export interface AgentFailureReport {
  message?: string;
  error_code?: AgentFailureCode;
  /** The same run may succeed later. Default: false. */
  retryable?: boolean;
  detail?: string;
}

export const STOP_REASONS = ['end_turn', 'cancelled', 'refusal', 'max_tokens', 'max_turn_requests', 'error'] as const;

/** `error`: the agent could not finish the turn, because its process ended, its model failed or the protocol broke. */
export interface TurnEnded extends AgentFailureReport {
  turn_id: string;
  stop_reason: (typeof STOP_REASONS)[number];
  /**
   * Result of the interrupt of this turn; absent when the turn ended for another reason. `done`: with `cancelled`, the session
   * continues. `unanswered`: with `error`, the execution ends.
   */
  interrupt?: 'done' | 'unanswered';
  /** With `end_turn`: what the user has to know about the result, a sentence. It becomes the message of the run. */
  notice?: string;
}

/** An event as a runner sends it. */
export interface RunnerEvent {
  /** 1, 2, 3 … per execution; a repeated number changes nothing. */
  source_seq: number;
  kind: RunnerEventKind;
  /** The runner's wall clock, RFC 3339; for information only, order and display use the server's time. */
  at?: string;
  data: Record<string, unknown>;
}

/** As it is received: runners of later versions report kinds that this version does not know. */
export interface ReceivedRunnerEvent extends Omit<RunnerEvent, 'kind'> {
  kind: string;
}

/** An event as stored in the log. */
export interface RunEvent {
  run_id: string;
  seq: number;
  execution_id: string | null;
  kind: RunEventKind;
  at: Date;
  data: Record<string, unknown>;
}
