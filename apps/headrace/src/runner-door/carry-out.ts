import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeTree, RUNNER_EXIT, runExecution, type RunExecutionOptions, sweep } from '#execution/runner';
import type { RunnerHandover } from '#execution/runner-protocol';
import { Guard } from './guard.js';
import { BUILTIN_AGENT_ARGS, OWN_ENTRY } from './own-program.js';
import { USUAL_GIT, USUAL_LIMITS } from './usual-limits.js';

/** What of a hand-over has to be said where nobody hands one over. */
export type OwnHandover = Pick<RunnerHandover, 'base_url' | 'execution_id' | 'token'> &
  Partial<Pick<RunnerHandover, 'place_env' | 'in_place' | 'harnesses'>>;

/**
 * Carries out an execution that no executor of ours looks after: in a temporary directory, which is gone afterwards however
 * this process ends. Resolves with a RUNNER_EXIT.
 */
export async function carryOut(
  handover: OwnHandover,
  options: Omit<RunExecutionOptions, 'builtinAgentArgs'>,
): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'headrace-run-'));
  const cookie = randomBytes(16).toString('hex');
  const guard = Guard.post({ cookie, directory }, OWN_ENTRY);
  process.on('unhandledRejection', (reason) => options.log.warn('unhandled rejection', { error: String(reason) }));
  process.on('uncaughtException', (error) => {
    options.log.error('fault', { error: error.message });
    void sweep({ cookie }).finally(() => process.exit(RUNNER_EXIT.fault));
  });
  try {
    return await runExecution(
      {
        ...handover,
        workspace_dir: join(directory, 'workspace'),
        cookie,
        limits: USUAL_LIMITS,
        git: USUAL_GIT,
      },
      { ...options, builtinAgentArgs: BUILTIN_AGENT_ARGS },
    );
  } finally {
    await removeTree(directory).catch((error: unknown) => {
      options.log.warn('a temporary directory could not be removed', { error: String(error) });
    });
    guard.dismiss();
  }
}
