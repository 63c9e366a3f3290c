import { runBuiltinAgent } from '#execution/runner';

/** The built-in agent, for the runner: the Agent Client Protocol on standard input and output. */
export function run(_args: readonly string[]): Promise<number> {
  return runBuiltinAgent();
}
