import { within } from '#platform/kernel';
import { GitFailure } from './git-failure.js';
import { collect, type GitResult, type GitCall, GitProcess, SERVER_SIDE } from './git-process.js';

/** The placeholder for the repository in the arguments of the client side. */
export const FD_URL = 'fd::3,4';

/**
 * Lets one git process fetch from a repository that its own user may not read: the serving side runs as we do, and the
 * two speak git's protocol over pipes. `--` and {@link FD_URL} belong into the arguments of `call`.
 */
export async function fetchFromDirectory(gitDirectory: string, call: GitCall): Promise<GitResult> {
  const { signal, timeoutMs, environment } = call;
  const asking = new GitProcess({ ...call, protocols: ['fd'], wired: true });
  const serving = new GitProcess({
    args: ['upload-pack', '--strict', '--', gitDirectory],
    ...SERVER_SIDE,
    streamsInput: true,
    environment,
    signal,
    timeoutMs,
  });
  const served = serving.finished();
  served.catch(() => undefined);
  serving.stdout?.pipe(asking.wire(3));
  if (serving.stdin) asking.wire(4).pipe(serving.stdin);
  try {
    return await collect(asking, call.maxOutputBytes);
  } catch (error) {
    throw await moreTelling(error, served);
  } finally {
    serving.end(new GitFailure('failed', 'The fetch has ended.'));
  }
}

/** When the serving side has failed, the fetching side only knows that the connection was closed. */
async function moreTelling(error: unknown, served: Promise<unknown>): Promise<unknown> {
  if (!(error instanceof GitFailure) || ['aborted', 'timeout', 'too_large'].includes(error.reason)) return error;
  const fault = served.then(
    () => null,
    (reason: unknown) => reason,
  );
  const serving = await within(100, fault, () => null);
  return serving instanceof GitFailure ? serving : error;
}
