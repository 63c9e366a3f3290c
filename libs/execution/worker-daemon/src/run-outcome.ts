import type { WorkerOptions } from './options/read-worker-options.js';

const ANSWER_MS = 10_000;
const AT_REST = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];

type Access = Pick<WorkerOptions, 'serverRootUrl' | 'apiKey'>;

/**
 * Exit code of a single-job worker: 0 when the run succeeded, else what its runner left with, else 1. A runner leaves with 0
 * once it has reported, whatever it reported, so the run itself is asked.
 */
export async function outcomeCode(
  access: Access,
  { taskId, exitCode }: { readonly taskId: string; readonly exitCode: number },
): Promise<number> {
  if (exitCode !== 0) return exitCode;
  return (await runState(access, taskId)) === 'SUCCEEDED' ? 0 : 1;
}

/** Whether the run has come to rest, so that its runner only waits for follow-ups. False when that cannot be known. */
export async function isAtRest(access: Access, taskId: string): Promise<boolean> {
  const state = await runState(access, taskId);
  return state !== null && AT_REST.includes(state);
}

/** Null when it cannot be known. */
async function runState({ serverRootUrl, apiKey }: Access, taskId: string): Promise<string | null> {
  try {
    const response = await fetch(`${serverRootUrl}/api/v1/agent/runs/${encodeURIComponent(taskId)}`, {
      headers: { authorization: `Bearer ${apiKey()}` },
      signal: AbortSignal.timeout(ANSWER_MS),
      redirect: 'error',
    });
    const body: unknown = await response.json();
    const state = typeof body === 'object' && body !== null && 'state' in body ? body.state : null;
    return response.ok && typeof state === 'string' ? state : null;
  } catch {
    return null;
  }
}
