/**
 * How a runner process ends, for whoever started it. What became of the run is told over the protocol;
 * the exit code tells whether that telling succeeded.
 */
export const RUNNER_EXIT = {
  /** The control plane has acknowledged the end of the execution, whatever the outcome. */
  reported: 0,
  /** The hand-over on standard input was missing or not valid. Nothing was claimed. */
  badHandover: 64,
  /** The control plane was not reachable for the claim. Nothing was started. */
  notClaimed: 69,
  /** A fault of the runner itself. Its processes were killed; the lease runs out. */
  fault: 70,
  /** The control plane refused the claim: the execution is not offered any more. Nothing was started. */
  claimRefused: 77,
  /** The lease was lost (412, or silence for too long). Everything was killed, nothing more was reported. */
  fenced: 75,
} as const;

export type RunnerExitCode = (typeof RUNNER_EXIT)[keyof typeof RUNNER_EXIT];
