/** The latest run in an environment, as its list shows it. */
export interface LastRun {
  readonly id: string;
  readonly title: string;
  readonly state: LastRunState;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly startedAt: Date | null;
}

/** States that runs have; rooms above know what they mean. */
export const LAST_RUN_STATES = [
  'QUEUED',
  'PENDING',
  'CLAIMED',
  'INPROGRESS',
  'SUCCEEDED',
  'FAILED',
  'BLOCKED',
  'ERROR',
  'CANCELLED',
] as const;
export type LastRunState = (typeof LAST_RUN_STATES)[number];
