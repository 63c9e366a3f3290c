import type { PermissionSubject, QuestionAnswer } from './events.js';

/**
 * The runner protocol, version 1: HTTP from the runner to the control plane, under
 * `{base_url}/runner/v1/executions/{execution_id}`, `Authorization: Bearer <execution token>`.
 *
 * | call | body | answers |
 * | --- | --- | --- |
 * | `POST /claim` | ClaimRequest | 200 Assignment; 412 lease_lost |
 * | `POST /events` | LeaseRef with `events`: RunnerEvent[] | 200 BatchAck; 412 |
 * | `POST /beat` | LeaseRef | 200 HeartbeatAck; 412 |
 * | `GET /commands?lease_epoch&version&wait` | | 200 Commands; 204 nothing new within `wait` seconds; 412 |
 * | `PUT /transcript?lease_epoch&format&session_id` | raw bytes | 204; 412; 413 |
 * | `GET /transcript?lease_epoch` | | 200 raw bytes of the conversation's stored transcript; 404 |
 * | `GET /attachments/{attachment_id}?lease_epoch` | | 200 raw bytes of a file that the run was created with; 404; 412 |
 * | `PUT /artifacts?lease_epoch&source_key&artifact_type&…` (ArtifactContentQuery) | raw bytes | 200 ArtifactAck; 400, 413 rejected; 412 |
 * | `PUT /snapshots/packs/{pack_id}?lease_epoch` | raw bytes of a pack | 204; 412; 413 |
 * | `PUT /snapshots?lease_epoch&reason&stored_bytes&pack_id&pack_bytes` | the last pack (`pack_bytes`, at most MAX_INLINE_PACK_BYTES, may be 0), then a gzipped manifest, whose other packs are stored | 200 WorkspaceSnapshot; 400; 412; 413 |
 * | `GET /snapshots/{snapshot_id}?lease_epoch` | | 200 the gzipped manifest; 404; 412 |
 * | `GET /snapshots/packs/{pack_id}?lease_epoch` | | 200 raw bytes of the pack; 404; 412 |
 * | `POST /repository-credential` | {lease_epoch, url} | 200 RepositoryCredentialAnswer; 412 |
 * | `GET /conversation-summary?lease_epoch` | | 200 ConversationSummaryAnswer; 412 |
 * | `POST /runs` | StartRunRequest | 200 StartRunAnswer; 400, 413 rejected; 412 |
 * | `GET /runs/{run_id}?lease_epoch` | | 200 ChildRunAnswer; 412 |
 * | `POST /runs/wait` | WaitForRunsRequest | 200 WaitForRunsAnswer, within `wait` seconds; 400; 412 |
 * | `POST /comments` | CommentRequest | 200 CommentAnswer, within `wait` seconds; 400; 412 |
 * | `GET /comments?lease_epoch` | | 200 CommentTargetAnswer; 412 |
 * | `POST /artifacts` | ArtifactReference | 200 ArtifactAck; 400 rejected; 412 |
 * | `POST /finish` | FinishRequest | 200 {}; idempotent by (execution, epoch); 412 |
 *
 * Every answer renews the lease except those of `/commands`, `/attachments`, `POST /runs`, `/runs/wait` and `POST /comments`. 412 means: stop the agent at once, upload nothing.
 * 5xx, 408, 429 and broken connections are retried with back-off until the runner's own fence.
 */
export const RUNNER_PROTOCOL_VERSION = 1;
export const MAX_BATCH_EVENTS = 500;
export const MAX_TRANSCRIPT_BYTES = 64 * 1_048_576;
export const MAX_ARTIFACT_BYTES = 64 * 1_048_576;
/** Bytes of a PLAN, which is answered as part of a JSON document. */
export const MAX_PLAN_BYTES = 1_048_576;

interface LeaseRef {
  lease_epoch: number;
}

export interface ClaimRequest {
  protocol_version: number;
  /** Random per runner process: a repeated claim of the same instance gets the same answer. */
  instance_id: string;
}

export interface Assignment {
  run_id: string;
  execution_id: string;
  lease_epoch: number;
  ttl_seconds: number;
  next_beat_seconds: number;
  /** The commands up to this version contain nothing for the runner; absent: they are read from the first one on. */
  command_version?: number;
  /** The first prompt of the run; null when this execution continues and the prompt is read from `/commands`. */
  prompt: string | null;
  base_prompt: string | null;
  mode: string;
  interactive: boolean;
  harness: { type: string; model_id?: string; reasoning_level?: string };
  permission_policy: 'allow' | 'deny' | 'ask' | 'allow_list';
  permission_allow_list: string[];
  /** Rules of people for the rest of the run; matching requests are allowed. */
  permission_rules?: PermissionRule[];
  /** The run has a usage limit: cost is reported during the turn, not only at its end. */
  reports_usage_early?: boolean;
  environment: { uid: string; name?: string; setup_commands: string[]; env: Record<string, string> } | null;
  /** Defaults of git in the workspace. `co_author`: the person who asked for the run. `forges`: whose APIs the runner may call. */
  git?: { author: GitPerson; co_author?: GitPerson; forges?: ForgeRef[] };
  /** Cloned before the first set-up command, reported in this order. Set-up and agent start in a single one. */
  repositories: RepositoryRef[];
  /** Environment variables of set-up commands and agent, whose values the runner redacts from all reports. */
  secrets: Record<string, string>;
  /**
   * Secrets of the agent alone, in plain text like `secrets`. `auth`: for the variable that the harness defines;
   * `variables`: by name.
   */
  agent_secrets?: { auth?: string; variables?: Record<string, string> };
  mcp_servers: Record<
    string,
    { command?: string; args?: string[]; url?: string; env?: Record<string, string>; headers?: Record<string, string> }
  >;
  /**
   * Present when an earlier session is to be loaded. `debug`: it began in a debug window, so that base prompt and
   * attachments are sent with the first prompt. `skill`: another run began it, and the base prompt of this run contains a
   * skill, which is sent with the first prompt. `cost_usd`: cost of the conversation so far, where it was reported.
   */
  resume: {
    session_id: string;
    transcript: boolean;
    debug?: boolean;
    skill?: boolean;
    cost_usd?: number;
  } | null;
  /** Present when the runner keeps the session after a failed set-up; see docs/debug-window.md. */
  failure_session_retention_minutes?: number;
  /** Attachments of the run, for every execution of it, with unique names. */
  attachments: AttachmentRef[];
  /** Present when the runner takes snapshots of the workspace. */
  snapshots?: SnapshotOrder;
  /** The agent may start runs. */
  child_runs?: true;
  /** An issue, pull request or thread has started the run: `GET /comments` says whether the agent may comment on it. */
  has_source?: true;
  /** Of the span of the run, for the agent; present when the run is traced. Requests that start runs are sent with it. */
  traceparent?: string;
}

/** `key`: a repeated key of the execution returns the run that was started with it. */
export interface StartRunRequest extends LeaseRef {
  key: string;
  prompt: string;
  title?: string;
  agent_identity_uid?: string;
  environment_id?: string;
  model_id?: string;
  harness?: string;
}

/** `problem`: why the run was not started, a sentence for the agent. */
export type StartRunAnswer = { run_id: string; state: string; title: string } | { problem: string };

export interface ChildRun {
  run_id: string;
  title: string;
  state: string;
  /** Only a message would continue it. */
  has_ended: boolean;
  status_message?: string;
  /** The last message of its agent, at most MAX_CHILD_RESULT characters. */
  result?: string;
  /** The newest ones, at most MAX_CHILD_ARTIFACTS. */
  artifacts: { artifact_type: string; title?: string; url?: string; status?: string }[];
}
export const MAX_CHILD_RESULT = 16_000;
export const MAX_CHILD_ARTIFACTS = 20;
/** Runs of one `POST /runs/wait`. */
export const MAX_AWAITED_RUNS = 100;

export type ChildRunAnswer = { run: ChildRun } | { problem: string };

/** `end`: the wait ends, whatever the runs do. `abandon`: the agent continues already. */
export const RUN_WAIT_MODES = ['wait', 'end', 'abandon'] as const;

/** `active`: also the runs that this run has started and that have not ended. `wait`: seconds. */
export interface WaitForRunsRequest extends LeaseRef {
  run_ids: string[];
  active?: boolean;
  mode: (typeof RUN_WAIT_MODES)[number];
  wait: number;
}

/**
 * `is_over`: the agent may continue, and `runs` are present. Otherwise the request is repeated with `run_ids`; until then the execution
 * has no slot.
 */
export type WaitForRunsAnswer =
  | { is_over: true; run_ids: string[]; runs: ChildRun[] }
  | { is_over: false; run_ids: string[] }
  | { problem: string };

/** `key`: a repeated key of the execution is the same comment. `wait`: seconds. */
export interface CommentRequest extends LeaseRef {
  key: string;
  text: string;
  wait: number;
}

/** `pending`: it is written later, and the request may be repeated. */
export type CommentAnswer = { state: 'written' | 'pending'; target: string } | { problem: string };

/** Null: the run cannot comment. */
export interface CommentTargetAnswer {
  target: string | null;
}

export interface GitPerson {
  name: string;
  email: string;
}

/** The attachment with the payload of the event that has started the run. */
export const EVENT_PAYLOAD_FILE = 'event-payload.json';
/** That of an event which has continued the run. `id`: 12 hexadecimal digits. */
export const nextEventPayloadFile = (id: string): string => `event-payload-${id}.json`;
export const isEventPayloadFile = (name: string): boolean => /^event-payload(-[0-9a-f]{12})?\.json$/.test(name);

/** In texts that runs write on forges, invisible there, so that no automation starts because of them. */
export const AGENT_TEXT_MARK = '<!-- headrace -->';
/** Of checks that runs have on forges, so that no automation starts because one of them has failed. */
export const CHECK_NAME_PREFIX = 'headrace: ';

export interface ForgeRef {
  type: 'github' | 'gitlab';
  /** Base URL of its repositories, without a slash at its end. */
  url: string;
  api_url: string;
}

export interface SnapshotOrder {
  /** The workspace begins with the files of this snapshot, without cloning repositories. */
  restore?: string;
  /** The workspace is that of another run, whose conversation continues here. */
  is_fork?: boolean;
  /** The last turn has no end: what it changed after the snapshot is missing. */
  lacks_last_turn?: boolean;
  /** The set-up commands are executed after the restore, too. */
  repeats_setup?: boolean;
  max_bytes: number;
  max_entries: number;
  /** Seconds between two snapshots during a turn; 0: none. */
  interval_seconds: number;
}

/** The earlier conversation, for an agent that cannot load its session. Empty: there is none. */
export interface ConversationSummaryAnswer {
  text: string;
}

export interface PermissionRule {
  /** The approval that created the rule. */
  approval_id: string;
  subject: PermissionSubject;
}

export interface RepositoryRef {
  /** A URL without a password, or the absolute path of a repository on the runner's machine. */
  url: string;
  /** Branch, tag or whole commit id; the default branch when absent. */
  ref?: string;
  /** Name of its directory in the working directory. */
  directory: string;
  /** For git only: to clone, and for requests of git in the workspace while the execution lives. */
  credential?: RepositoryCredential;
  /**
   * `token`: programs in the workspace may use the credential for every request of the API that cannot be limited to the repository
   * (GraphQL). Those of a GitHub App open no other repository.
   */
  api_access?: 'token';
}

/**
 * `expires_at`: the runner asks for another one with `POST /repository-credential` before this time. `identity`: what stays the
 * same in all of them.
 */
export interface RepositoryCredential {
  username?: string;
  password: string;
  expires_at?: string;
  identity?: string;
}

/** Of `POST /repository-credential`. `problem`: why there is none, for the owner of the run. */
export type RepositoryCredentialAnswer = { credential: RepositoryCredential } | { problem: string };

export interface AttachmentRef {
  attachment_id: string;
  /** Without a path. */
  file_name: string;
  mime_type: string;
  size_bytes: number;
}

/** `stop`: cancel the turn, then SIGTERM, then SIGKILL. `kill`: SIGKILL at once. `close`: end an idle session. */
export type Desired = 'run' | 'stop' | 'kill' | 'close';

export interface BatchAck {
  /** Highest source_seq such that it and all before it are stored. */
  acked_seq: number;
  desired: Desired;
}

export interface HeartbeatAck extends Pick<Assignment, 'ttl_seconds' | 'next_beat_seconds'> {
  desired: Desired;
}

/** A snapshot of everything open at this version; the runner deduplicates by id. */
export interface Commands {
  version: number;
  desired: Desired;
  desired_reason?: string;
  /**
   * In order; consumed by a `turn_started` event with its `followup_id`. Empty message = continue. `attachments`: files that come
   * with it; later assignments of the run list them too. `debug`: for the
   * debug agent; after `setup_failed` a runner accepts no others.
   */
  prompts: { followup_id: string; message: string; mode?: string; debug?: boolean; attachments?: AttachmentRef[] }[];
  /**
   * `always`: requests with the same subject are decided alike for the rest of the run. `answer`, and who has given it: of
   * a question with the decision `answer`.
   */
  decisions: {
    approval_id: string;
    decision: 'allow' | 'deny' | 'answer';
    always?: boolean;
    note?: string;
    answer?: QuestionAnswer;
    answered_by?: { type: string; name?: string };
  }[];
  /** Present while a user has interrupted the open turn. A runner that does not support it ignores it. */
  interrupt?: InterruptOrder;
}

/**
 * The agent gets `session/cancel` once, for this turn and no other; the session continues after its answer. An agent that
 * does not answer within `timeout_seconds` is stopped.
 */
export interface InterruptOrder {
  turn_id: string;
  timeout_seconds: number;
}

/**
 * The query of an upload; the body is the content. `source_key`: a repeated key in the same run changes nothing. A DIFF replaces
 * the earlier one of the same `filepath`; an empty one only removes it.
 */
export interface ArtifactContentQuery extends LeaseRef {
  source_key: string;
  artifact_type: 'PLAN' | 'SCREENSHOT' | 'FILE' | 'DIFF';
  mime_type: string;
  /** Relative to the working directory of the agent. */
  filepath: string;
  title?: string;
  description?: string;
  /** Where the plan can be read, http or https. */
  url?: string;
}

/** State of a pull request as the agent reports it. */
export const PULL_REQUEST_STATUSES = ['open', 'draft', 'merged', 'closed', 'unknown'] as const;
export type PullRequestStatus = (typeof PULL_REQUEST_STATUSES)[number];

export interface ArtifactReference extends LeaseRef {
  source_key: string;
  artifact_type: 'PULL_REQUEST' | 'EXTERNAL_REFERENCE';
  url: string;
  /** Required for PULL_REQUEST. */
  branch?: string;
  /** Of a PULL_REQUEST. Default: unknown. */
  status?: PullRequestStatus;
  /**
   * Of a PULL_REQUEST: the tool of the run has created it, or its head is a commit that the run has pushed, as the repository says. Its
   * events are for the run.
   */
  created_by_run?: boolean;
  /** Required for EXTERNAL_REFERENCE; at most 256 characters. */
  reference_type?: string;
  title?: string;
  metadata?: Record<string, unknown>;
}

export interface ArtifactAck {
  artifact_uid: string;
}

export interface FinishRequest extends LeaseRef {
  outcome: 'closed' | 'failed' | 'cancelled' | 'handed_back';
  /** For `failed`: environment_setup_failed, infrastructure_timeout, internal_error, or one of AGENT_FAILURE_CODES. */
  error_code?: string;
  message?: string;
  /** The same run may succeed later. Default: as the code says. */
  retryable?: boolean;
  /** Output of the agent, without paths and stack traces. */
  detail?: string;
  exit_code?: number;
}
