import type { GitHandover, RunnerLimits } from '#execution/runner-protocol';

const MIB = 1_048_576;

/** As the settings of the same names have them, where a runner is started by somebody who knows no settings of ours. */
export const USUAL_LIMITS: RunnerLimits = {
  max_workspace_bytes: 10 * 1024 * MIB,
  max_output_bytes: 64 * MIB,
  setup_command_timeout_seconds: 600,
  cancel_step_seconds: 2,
};

export const USUAL_GIT: GitHandover = { clone_timeout_seconds: 600, max_repository_bytes: 5 * 1024 * MIB };
