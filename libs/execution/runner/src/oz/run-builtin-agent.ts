/** Loads the built-in agent on demand: a runner imports this library too, and starts faster without it. */
export async function runBuiltinAgent(): Promise<number> {
  const agent = await import('./builtin-agent.js');
  return agent.runBuiltinAgent();
}
