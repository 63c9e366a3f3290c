import { removeTree, sweep, type SweepTargets } from '#execution/runner';
import type { HostLog } from './host-log.js';
import { removeLeftFiles } from './left-files.js';

/** What an execution may leave behind. */
export interface ExecutionRemains {
  readonly executionId: string;
  readonly cookie: string;
  readonly workspaceDir: string;
  /** Its user, when it had one of its own. */
  readonly uid?: number | undefined;
  /** Process groups that were started for it. */
  readonly groups?: readonly number[];
}

/**
 * Nothing of the execution is left afterwards: no process, no file. Rejects when its directory cannot be removed.
 */
export async function clearExecution(remains: ExecutionRemains, log: HostLog): Promise<void> {
  const { executionId, cookie, workspaceDir, uid, groups } = remains;
  const targets: SweepTargets = {
    cookie,
    directory: workspaceDir,
    ...(uid === undefined ? {} : { uid }),
    ...(groups === undefined ? {} : { groups }),
  };
  const { left } = await sweep(targets);
  if (left > 0) log.error(`${left} process(es) of execution ${executionId} survived SIGKILL.`);
  await removeTree(workspaceDir);
  // As root only: elsewhere an execution has no user that is nobody else's.
  if (uid === undefined || uid === 0 || process.getuid?.() !== 0) return;
  const files = await removeLeftFiles(uid);
  if (files > 0)
    log.warn(`${files} file(s) of execution ${executionId} in shared temporary directories cannot be removed.`);
}
