import { HOSTED_WORKERS } from '#execution/worker-protocol';
import type { Artifact } from './artifact.js';
import type {
  AgentConfig,
  DebugWindow,
  PrincipalRef,
  RunOwner,
  RunState,
  RunUsage,
  StatusMessage,
  WaitingReason,
} from '#execution/executions';

export const RUN_SOURCE_TYPES = [
  'API',
  'CLI',
  'LOCAL',
  'WEB_APP',
  'SCHEDULED_AGENT',
  'CUSTOM_WEBHOOK',
  'ORCHESTRATION',
  'GITHUB_ACTION',
  'GITHUB_WEBHOOK',
  'GITLAB_WEBHOOK',
  'LINEAR',
  'SLACK',
  'JIRA',
  'CLOUD_MODE',
  'SELF_IMPROVEMENT',
  'AUTOFIX',
  'RUN_SCORER',
  'TEAMS',
  'AZURE_DEVOPS_WEBHOOK',
  'BENCHMARK_TRIAL',
  'CREATE_BENCHMARK_TASK',
  'MCP',
] as const;
export type RunSourceType = (typeof RUN_SOURCE_TYPES)[number];

export const EXECUTION_LOCATIONS = ['LOCAL', 'REMOTE'] as const;
export type RunExecutionLocation = (typeof EXECUTION_LOCATIONS)[number];

/** UTF-16 units of a text that answers a question. */
export const MAX_ANSWER_LENGTH = 10_000;

export const RUN_MODES = ['normal', 'plan', 'orchestrate'] as const;
export type RunMode = (typeof RUN_MODES)[number];

/** The skill that a run was created with, as it was then; of several, the first. */
export interface RunSkill {
  readonly name: string;
  readonly description: string;
  /** `owner/repo:path/to/SKILL.md`; of a skill that ships with Headrace its id instead. */
  readonly full_path?: string;
  readonly bundled_skill_id?: string;
  /** Shorter specs under which lists find the run besides the full one. */
  readonly specs: readonly string[];
}

/** The schedule that created a run, as it was then. */
export interface RunSchedule {
  readonly schedule_id: string;
  readonly schedule_name: string;
  readonly cron_schedule: string;
}

export interface Run {
  readonly id: string;
  readonly owner: RunOwner;
  readonly title: string;
  readonly prompt: string;
  /** The prompt without what the service has added, with the follow-ups sent before the start; null where it is not read. */
  readonly submittedPrompt: string | null;
  readonly state: RunState;
  readonly source: RunSourceType;
  readonly executionLocation: RunExecutionLocation;
  readonly creator: PrincipalRef;
  readonly executor: PrincipalRef;
  readonly config: AgentConfig;
  /** Null without a skill, and of runs that an older version has created. */
  readonly skill: RunSkill | null;
  readonly mode: RunMode;
  readonly interactive: boolean;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly parentRunId: string | null;
  /** The run whose input it was created with. */
  readonly rerunOf: string | null;
  /** Oldest first; the parent is the last one. */
  readonly ancestorRunIds: readonly string[];
  readonly schedule: RunSchedule | null;
  /** Where to read what triggered the run. */
  readonly triggerUrl: string | null;
  readonly usage: RunUsage | null;
  readonly conversationId: string | null;
  /** Which normalizer reads the conversation; null: the one of the runner protocol’s events. */
  readonly conversationFormat: string | null;
  readonly sessionId: string | null;
  /** The run from whose snapshot this one has started, and the sequence number of the snapshot there. */
  readonly forkedFromRunId: string | null;
  readonly forkedFromSeq: number | null;
  readonly statusMessage: StatusMessage | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly startedAt: Date | null;
  /** The last time at which a terminal state was reached; null while the run is active, and of runs that an older version has ended. */
  readonly finishedAt: Date | null;
  /** Milliseconds that executions worked, the running turn included; null before the first start. */
  readonly runTimeMs: number | null;
  readonly hasLiveExecution: boolean;
  /** Null unless it is open. */
  readonly debugWindow: DebugWindow | null;
  /** Of a queued run, where one run is read; null in lists, and when it only waits for the next placement. */
  readonly waitingReason: WaitingReason | null;
  /** Oldest first; in lists the newest {@link MAX_LISTED_ARTIFACTS} of them. */
  readonly artifacts: readonly Artifact[];
}

const MAX_TITLE = 120;

/** A title from the prompt's first line that says something: not blank, and no code fence where another line is to be had. */
export function titleFromPrompt(prompt: string): string {
  const lines = prompt
    .split(/\r?\n/)
    .map((candidate) => candidate.trim())
    .filter((candidate) => candidate !== '');
  const line = lines.find((candidate) => !candidate.startsWith('```')) ?? lines[0] ?? '';
  const characters = [...line];
  return characters.length <= MAX_TITLE ? line : `${characters.slice(0, MAX_TITLE - 1).join('')}…`;
}

/** ISO 8601 duration in hours, minutes and whole seconds: `PT2M30S`, `PT0S`. */
export function isoDuration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  const parts = [
    [Math.floor(seconds / 3600), 'H'],
    [Math.floor((seconds % 3600) / 60), 'M'],
    [seconds % 60, 'S'],
  ] as const;
  const text = parts.map(([value, unit]) => (value > 0 ? `${value}${unit}` : '')).join('');
  return `PT${text === '' ? '0S' : text}`;
}

/** Where a run may execute, which decides whether the platform can cancel it; `selfHosted`: on self-hosted workers too. */
export function isCancellableKind(
  run: Pick<Run, 'source' | 'executionLocation' | 'config'>,
  selfHosted: boolean,
): boolean {
  const host = run.config.worker_host;
  const isSelfHosted = host !== undefined && host !== HOSTED_WORKERS;
  return (selfHosted || !isSelfHosted) && run.executionLocation !== 'LOCAL' && run.source !== 'GITHUB_ACTION';
}
