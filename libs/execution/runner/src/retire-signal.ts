/**
 * Tells a runner to end its session once it is idle, after the turn that it works on. Processes ignore this signal unless
 * they ask for it, so that an older runner goes on as before.
 */
export const RETIRE_SIGNAL = 'SIGWINCH';
