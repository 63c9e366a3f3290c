import type { WorkerHarness, WorkerSkill } from '#execution/worker-protocol';

/** What a worker has told about itself; nothing of it is known of one that says no hello. */
export interface WorkerReport {
  /** Of its process, the same over reconnects. */
  readonly instanceId: string;
  readonly version: string;
  readonly backend: string;
  readonly slots: number;
  readonly harnesses: readonly WorkerHarness[];
  readonly skills: readonly WorkerSkill[];
}
