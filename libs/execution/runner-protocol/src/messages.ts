import type { PermissionSubject, RunnerEvent } from './events.js';

/**
 * The runner protocol, version 1: HTTP from the runner to the control plane, under
 * `{base_url}/runner/v1/executions/{execution_id}`, `Authorization: Bearer <execution token>`.
 *
 * | call | body | answers |
 * | --- | --- | --- |
 * | `POST /claim` | ClaimRequest | 200 Assignment; 412 lease_lost |
 * | `POST /events` | EventBatch | 200 BatchAck; 412 |
 * | `POST /beat` | LeaseRef | 200 HeartbeatAck; 412 |
 * | `GET /commands?lease_epoch&version&wait` | | 200 Commands; 204 nothing new within `wait` seconds; 412 |
 * | `PUT /transcript?lease_epoch&format&session_id` | raw bytes | 204; 412; 413 |
 * | `GET /transcript?lease_epoch` | | 200 raw bytes of the conversation's stored transcript; 404 |
 * | `GET /attachments/{attachment_id}?lease_epoch` | | 200 raw bytes of a file that the run was created with; 404; 412 |
 * | `PUT /artifacts?lease_epoch&source_key&artifact_type&…` (ArtifactContentQuery) | raw bytes | 200 ArtifactAck; 400, 413 not taken; 412 |
 * | `POST /artifacts` | ArtifactReference | 200 ArtifactAck; 400 not taken; 412 |
 * | `POST /finish` | FinishRequest | 200 {}; idempotent by (execution, epoch); 412 |
 *
 * Every answer renews the lease except those of `/commands` and `/attachments`. 412 means: stop the agent at once, upload nothing.
 * 5xx, 408, 429 and broken connections are retried with back-off until the runner's own fence.
 */
export const RUNNER_PROTOCOL_VERSION = 1;
export const MAX_BATCH_EVENTS = 500;
export const MAX_TRANSCRIPT_BYTES = 64 * 1_048_576;
export const MAX_ARTIFACT_BYTES = 64 * 1_048_576;
/** Bytes of a PLAN, which is answered as part of a JSON document. */
export const MAX_PLAN_BYTES = 1_048_576;

export interface LeaseRef {
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
  /** The first prompt of the run; null when this execution continues and the prompt comes by `/commands`. */
  prompt: string | null;
  base_prompt: string | null;
  mode: string;
  interactive: boolean;
  harness: { type: string; model_id?: string; reasoning_level?: string };
  permission_policy: 'allow' | 'deny' | 'ask' | 'allow_list';
  permission_allow_list: string[];
  /** What a person has allowed for the rest of the run; asked no more. */
  permission_rules?: PermissionRule[];
  /** The run has a ceiling on what it may use: cost is told while it grows, not at the turn's end only. */
  reports_usage_early?: boolean;
  environment: { uid: string; name?: string; setup_commands: string[]; env: Record<string, string> } | null;
  /** Cloned before the first set-up command, in this order of the timeline. One alone is where set-up and agent start. */
  repositories: RepositoryRef[];
  /** Environment variables of set-up commands and agent, whose values the runner takes out of whatever it reports. */
  secrets: Record<string, string>;
  /**
   * Of the agent alone, in clear like `secrets`. `auth`: goes into the variable that the harness names; `variables`: by
   * their names.
   */
  agent_secrets?: { auth?: string; variables?: Record<string, string> };
  mcp_servers: Record<
    string,
    { command?: string; args?: string[]; url?: string; env?: Record<string, string>; headers?: Record<string, string> }
  >;
  /**
   * Present when an earlier session is to be loaded. `debug`: it began in a debug window, so the base prompt and the
   * run's files are still due with the first prompt. `skill`: another run began it, and in this one's base prompt stands a
   * skill, which is due with the first prompt. `cost_usd`: what the conversation has cost so far, where that was told.
   */
  resume: {
    session_id: string;
    transcript: boolean;
    debug?: boolean;
    skill?: boolean;
    cost_usd?: number;
  } | null;
  /** Present when the runner is to stay after a set-up that failed; see docs/debug-window.md. */
  failure_session_retention_minutes?: number;
  /** Files that the run was created with, for every execution of it. Their names differ from each other. */
  attachments: AttachmentRef[];
}

export interface PermissionRule {
  /** The approval that made it. */
  approval_id: string;
  subject: PermissionSubject;
}

export interface RepositoryRef {
  /** Without a password; or the absolute path of a repository of the runner's machine. */
  url: string;
  /** Branch, tag or whole commit id; the default branch when absent. */
  ref?: string;
  /** Name of its directory in the working directory. */
  directory: string;
  /** For git alone: set-up commands and agent do not get it. */
  credential?: { username?: string; password: string };
}

export interface AttachmentRef {
  attachment_id: string;
  /** Without a path. */
  file_name: string;
  mime_type: string;
  size_bytes: number;
}

export interface EventBatch extends LeaseRef {
  events: RunnerEvent[];
}

/** `stop`: cancel the turn, then the ladder. `kill`: at once. `close`: an idle session ends. `lost`: fenced. */
export type Desired = 'run' | 'stop' | 'kill' | 'close';

export interface BatchAck {
  /** Highest source_seq such that it and all before it are stored. */
  acked_seq: number;
  desired: Desired;
}

export interface HeartbeatAck {
  ttl_seconds: number;
  next_beat_seconds: number;
  desired: Desired;
}

/** A level, not a stream: everything open at this version; the runner knows by id what it has seen. */
export interface Commands {
  version: number;
  desired: Desired;
  desired_reason?: string;
  /**
   * In order; consumed by a `turn_started` event with its `followup_id`. Empty message = continue. `debug`: for the
   * debug agent; after `setup_failed` a runner takes no others.
   */
  prompts: { followup_id: string; message: string; mode?: string; debug?: boolean }[];
  /** `always`: the same kind of request is to be asked no more. */
  decisions: { approval_id: string; decision: 'allow' | 'deny'; always?: boolean; note?: string }[];
}

/** The query of an upload; the body is the content. `source_key`: the same key again in the same run changes nothing. */
export interface ArtifactContentQuery extends LeaseRef {
  source_key: string;
  artifact_type: 'PLAN' | 'SCREENSHOT' | 'FILE';
  mime_type: string;
  /** As the agent names it, relative to its working directory. */
  filepath: string;
  title?: string;
  description?: string;
  /** Where the plan can be read, http or https. */
  url?: string;
}

export interface ArtifactReference extends LeaseRef {
  source_key: string;
  artifact_type: 'PULL_REQUEST' | 'EXTERNAL_REFERENCE';
  url: string;
  /** Required for PULL_REQUEST. */
  branch?: string;
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
  /** What the agent itself reported, without paths and stack traces. */
  detail?: string;
  exit_code?: number;
}
