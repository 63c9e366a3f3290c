import type { AgentConfig, Metadata, PrincipalRef, RunMode, RunOwner } from '#domain/runs';

/** What happens when a schedule is due while the run that it started last goes on: `skip` starts none. */
export const OVERLAP_POLICIES = ['allow', 'skip'] as const;
export type OverlapPolicy = (typeof OVERLAP_POLICIES)[number];

/** What of a schedule can be set. */
export interface ScheduleFields {
  readonly name: string;
  /** Five fields, as given. */
  readonly cronSchedule: string;
  /** IANA name. */
  readonly timezone: string;
  readonly prompt: string;
  readonly enabled: boolean;
  /** As the caller gave it; defaults are resolved when a run is created. `env` and `headers` of MCP servers are sealed where it is stored. */
  readonly agentConfig: AgentConfig | null;
  readonly agentIdentityUid: string | null;
  readonly mode: RunMode;
  readonly metadata: Metadata | null;
  readonly overlapPolicy: OverlapPolicy;
  /** Up to this much later than its due time a run is started. */
  readonly jitterSeconds: number;
}

export interface Schedule extends ScheduleFields {
  readonly uid: string;
  readonly owner: RunOwner;
  /** Why the service has paused it by itself; null while it is enabled, or when somebody has paused it. */
  readonly pausedReason: string | null;
  readonly createdBy: PrincipalRef;
  /** Who saved it last: the creator of its runs. What they may use is what the team may, and what is their own. */
  readonly updatedBy: PrincipalRef;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** When a run of it last succeeded. */
  readonly lastRanAt: Date | null;
  /** Started for a due time. */
  readonly lastRunId: string | null;
  /** Why the last time that it was due started no run; null when it did. */
  readonly lastSpawnError: string | null;
  /** Due times in a row that started no run because they never could. */
  readonly failures: number;
  /** The due time it waits for; null while it is paused. */
  readonly nextDueAt: Date | null;
}

/** Of one team, or of one person. */
export const MAX_SCHEDULES = 1000;
/** Characters. */
export const MAX_SCHEDULE_NAME = 200;
/** Bytes of JSON. */
export const MAX_AGENT_CONFIG_BYTES = 65_536;
export const MAX_JITTER_SECONDS = 3600;
/** Due times that are shown ahead. */
export const UPCOMING = 5;
/** A list shows this many characters of a prompt, as lists of runs do. */
export const LISTED_PROMPT_CHARACTERS = 2048;

/** Under which the values of its MCP servers are sealed. */
export const secretsOf = (uid: string): string => `schedule/${uid}`;
