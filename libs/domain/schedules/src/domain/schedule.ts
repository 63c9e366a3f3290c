import type { AgentConfig, Metadata, PrincipalRef, RunMode, RunOwner } from '#domain/runs';

/** What happens when a schedule is due while its previous run is not finished: `skip` starts no run. */
export const OVERLAP_POLICIES = ['allow', 'skip'] as const;
export type OverlapPolicy = (typeof OVERLAP_POLICIES)[number];

/** The fields that callers set. */
export interface ScheduleFields {
  readonly name: string;
  /** Five fields, as the caller wrote them. */
  readonly cronSchedule: string;
  /** IANA name. */
  readonly timezone: string;
  readonly prompt: string;
  readonly enabled: boolean;
  /** As the caller wrote it; defaults are resolved when a run is created. `env` and `headers` of MCP servers are stored encrypted. */
  readonly agentConfig: AgentConfig | null;
  readonly agentIdentityUid: string | null;
  readonly mode: RunMode;
  readonly metadata: Metadata | null;
  readonly overlapPolicy: OverlapPolicy;
  /** A run starts up to this many seconds later than its due time. */
  readonly jitterSeconds: number;
}

export interface Schedule extends ScheduleFields {
  readonly uid: string;
  readonly owner: RunOwner;
  /** Why the service has paused it automatically; null while it is enabled, or when a caller has paused it. */
  readonly pausedReason: string | null;
  readonly createdBy: PrincipalRef;
  /** The principal that saved it last: the creator of its runs, which may use what the team and this principal may use. */
  readonly updatedBy: PrincipalRef;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** When a run of it succeeded last. */
  readonly lastRanAt: Date | null;
  /** The last run that was started for a due time. */
  readonly lastRunId: string | null;
  /** Why the last due time started no run; null when it did. */
  readonly lastSpawnError: string | null;
  /** Consecutive due times that were refused. */
  readonly failures: number;
  /** The due time it waits for; null while it is paused. */
  readonly nextDueAt: Date | null;
}

/** With a shortened prompt. */
export interface ListedSchedule extends Schedule {
  /** Bytes of a response that the schedule needs without its environment, at most. */
  readonly listedBytes: number;
}

/** Per team, and per user. */
export const MAX_SCHEDULES = 1000;
/** Characters. */
export const MAX_SCHEDULE_NAME = 200;
/** Bytes of JSON. */
export const MAX_AGENT_CONFIG_BYTES = 65_536;
export const MAX_JITTER_SECONDS = 3600;
/** Number of due times that responses list. */
export const UPCOMING = 5;
/** Lists return this many characters of a prompt, as lists of runs do. */
export const LISTED_PROMPT_CHARACTERS = 2048;

/** The purpose that the secrets of its MCP servers are encrypted for. */
export const secretsOf = (uid: string): string => `schedule/${uid}`;
