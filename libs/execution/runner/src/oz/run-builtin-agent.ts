/** Loads the built-in agent where it runs. A runner imports this library too, and starts faster without it. */
export async function runBuiltinAgent(): Promise<number> {
  const agent = await import('./builtin-agent.js');
  return agent.runBuiltinAgent();
}
