import { resolve } from 'node:path';
import type { Settings } from '#platform/config';
import type { GitHandover, RunnerHandover } from '#execution/runner-protocol';
import type { ExecutionTokens } from '../domain/execution-token.js';

/**
 * Of CLAIM_DEADLINE, where the offer is not extended: the rest is for the start of the runner, and for its exit to be seen
 * before the offer is over.
 */
const CLAIM_SHARE = 2 / 3;

/** What is the same wherever a runner is started; `place` is what its executor knows of the place. */
export function runnerHandover(
  settings: Settings,
  tokens: ExecutionTokens,
  executionId: string,
  place: Pick<RunnerHandover, 'workspace_dir' | 'harnesses'> & Partial<RunnerHandover>,
): RunnerHandover {
  return {
    base_url: `${settings.runnerApiUrl}/api/v1`,
    execution_id: executionId,
    token: tokens.mint(executionId),
    marker: tokens.marker(executionId),
    claim_seconds: (settings.claimDeadline * CLAIM_SHARE) / 1000,
    limits: {
      max_workspace_bytes: settings.maxWorkspaceBytes,
      max_output_bytes: settings.maxOutputBytes,
      setup_command_timeout_seconds: settings.setupCommandTimeout / 1000,
      cancel_step_seconds: settings.cancelEscalationDelay / 1000,
      max_artifact_bytes: settings.maxArtifactBytes,
      agent_progress_timeout_seconds: settings.agentProgressTimeout / 1000,
    },
    git: cloning(settings),
    ...place,
  };
}

/** The same for every executor; one that shares the mirrors of this machine adds {@link localCloning}. */
function cloning({ gitCloneTimeout, gitMaxRepositoryBytes }: Settings): GitHandover {
  return { clone_timeout_seconds: gitCloneTimeout / 1000, max_repository_bytes: gitMaxRepositoryBytes };
}

/** For runners that share this machine's disk. */
export function localCloning(settings: Settings): GitHandover {
  const directory = resolve(settings.dataDir, 'mirrors');
  return {
    ...cloning(settings),
    mirrors_dir: directory,
    local_roots: [...settings.gitLocalRoots],
    hosts: { allow_private: [...settings.gitAllowPrivate], trusted_urls: [settings.githubUrl] },
    max_mirrors_bytes: settings.gitMirrorsMaxBytes,
  };
}
