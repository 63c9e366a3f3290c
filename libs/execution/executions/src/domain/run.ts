import type { Owner, PrincipalRef } from '#platform/auth';
import type { ErrorCode } from '#platform/kernel';
import type { Assignment, RunEventKind, Usage } from '#execution/runner-protocol';
import { HOSTED_WORKERS } from '#execution/worker-protocol';

/** The agent of runs that name none: the built-in one. */
export const DEFAULT_HARNESS = 'oz';

export const HOSTED_POOL = 'hosted';
/** Of runs that their caller executes: they are not placed, and hold no slots. */
export const EXTERNAL_POOL = 'external';

export const workerPool = (host: string): string => `worker:${host}`;

/** The runs of one team on one worker host. */
export interface WorkerPoolKeys {
  readonly pool: string;
  readonly slotKey: string;
}

export const workerPoolKeys = (worker: { readonly teamUid: string; readonly workerHost: string }): WorkerPoolKeys => ({
  pool: workerPool(worker.workerHost),
  slotKey: slotKey({ teamUid: worker.teamUid, userUid: null }),
});

export function poolOf({ worker_host: host }: AgentConfig): string {
  return host === undefined || host === HOSTED_WORKERS ? HOSTED_POOL : workerPool(host);
}

export type RunOwner = Owner;
export type { PrincipalRef };

/** The row that counts the owner's concurrent executions, and the scope of idempotency keys. */
export function slotKey(owner: RunOwner): string {
  return owner.teamUid !== null ? `team:${owner.teamUid}` : `user:${owner.userUid}`;
}

/** The keys of owners: these teams, and this person. */
export function slotKeys({ teamUids, userUid }: { teamUids: readonly string[]; userUid: string | null }): string[] {
  const teams = teamUids.map((teamUid) => slotKey({ teamUid, userUid: null }));
  return userUid === null ? teams : [...teams, slotKey({ teamUid: null, userUid })];
}

export type McpServerConfig = Assignment['mcp_servers'][string] & { warp_id?: string };

/** The contract's AmbientAgentConfig, as stored: resolved, with `skill_spec` repeating the first of `skills`. */
export interface AgentConfig {
  name?: string;
  model_id?: string;
  base_prompt?: string;
  environment_id?: string;
  /** One that the environment allows; the workspace has it. */
  repository?: { url: string; ref?: string };
  worker_host?: string;
  skill_spec?: string;
  skills?: string[];
  mcp_servers?: Record<string, McpServerConfig>;
  harness?: { type?: string; model_id?: string; reasoning_level?: string };
  /** Names of managed secrets, by `<harness>_auth_secret_name`. */
  harness_auth_secrets?: Record<string, string>;
  /** Managed secrets of the team. */
  secrets?: { name: string }[];
  /** 0: the session is closed as soon as its turn has ended. */
  idle_timeout_minutes?: number;
  permission_policy?: 'allow' | 'deny' | 'ask' | 'allow_list';
  permission_allow_list?: string[];
  approval_timeout_minutes?: number;
  max_runtime_minutes?: number;
  max_cost_usd?: number;
  max_tokens?: number;
  [other: string]: unknown;
}

/** What a run's agents have reported to have used, over all turns. */
export type RunUsage = Readonly<Usage>;

/** Why a run is where it is; the wire's `status_message`. */
export interface StatusMessage {
  readonly message: string;
  readonly error_code?: ErrorCode;
  readonly retryable?: boolean;
  /** What the agent itself reported, without paths and stack traces. */
  readonly detail?: string;
  /** RFC 3339; this and the next one are never stored, see `withDebugWindow`. */
  readonly session_debug_until?: string;
  readonly debug_agent_active?: boolean;
}

/** Why a queued run is not placed. `limit`: slots of the pool, or runs that the owner may execute at the same time. */
export type WaitingReason =
  | { readonly kind: 'installation_held' | 'previous_execution_stopping' | 'no_worker_for_personal_run' }
  | { readonly kind: 'no_worker_connected' | 'workers_busy'; readonly worker_host: string }
  | { readonly kind: 'owner_limit' | 'pool_full'; readonly limit: number }
  /** The run is held, see `concurrency_queue`. */
  | { readonly kind: 'earlier_run'; readonly run_id: string | null }
  | { readonly kind: 'delayed'; readonly start_at: string };

/** An execution whose set-up failed stays for a debug agent; see docs/debug-window.md. */
export interface DebugWindow {
  /** A message until then reaches the session. It moves on with every message and every turn's end. */
  readonly until: Date;
  /** The debug agent works, or a message waits for it. */
  readonly isAgentActive: boolean;
}

function sentence(reason: WaitingReason, owner: Pick<RunOwner, 'teamUid'>): string {
  switch (reason.kind) {
    case 'installation_held':
      return 'The installation was restored from a backup and is held until an operator releases it.';
    case 'previous_execution_stopping':
      return 'The previous execution of the run is still stopping.';
    case 'no_worker_for_personal_run':
      return 'Self-hosted workers execute runs of teams only, and this run is personal.';
    case 'no_worker_connected':
      return `No worker named "${reason.worker_host}" is connected.`;
    case 'workers_busy':
      return `The connected workers named "${reason.worker_host}" accept no more runs at the moment.`;
    case 'owner_limit':
      return owner.teamUid === null
        ? `The limit of ${counted(reason.limit, 'concurrent run')} for personal runs of one user is reached.`
        : `The team has reached its limit of ${counted(reason.limit, 'concurrent run')}.`;
    case 'pool_full':
      return reason.limit === 1
        ? 'The only slot for hosted runs is in use.'
        : `All ${reason.limit} slots for hosted runs are in use.`;
    case 'earlier_run':
      return reason.run_id === null
        ? 'The run with the same concurrency key before it has just ended.'
        : `The run ${reason.run_id} with the same concurrency key has not ended.`;
    case 'delayed':
      return `It starts after ${new Date(reason.start_at).toISOString()} unless a later event replaces it.`;
  }
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** The stored status of a queued run, such as that it starts again after a lost worker, with what it waits for. */
export function withWaitingReason(
  status: StatusMessage | null,
  reason: WaitingReason | null,
  owner: Pick<RunOwner, 'teamUid'>,
): StatusMessage | null {
  if (reason === null) return status;
  const message = `Waiting: ${sentence(reason, owner)}`;
  return status === null ? { message } : { ...status, message: `${status.message} ${message}` };
}

/** A debug agent that works longer without an answer is stopped: nobody can cancel a run that has failed. */
export const MAX_DEBUG_TURN_MS = 60 * 60_000;

/** How often a message for a debug session that was lost puts its run back into the queue. */
export const MAX_REROUTES = 1;

export function withDebugWindow(status: StatusMessage | null, window: DebugWindow | null): StatusMessage | null {
  if (status === null || window === null) return status;
  return {
    ...status,
    session_debug_until: window.until.toISOString(),
    debug_agent_active: window.isAgentActive,
  };
}

/** An entry of the log of a run that is about to be stored. */
export interface NewRunEvent {
  readonly kind: RunEventKind;
  readonly data: object;
}
