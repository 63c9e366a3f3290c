import { chmodSync, copyFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const AGENT = fileURLToPath(new URL('scripted-agent.mjs', import.meta.url));

/** The harness `scripted`, whose agent executes the steps of its prompt. Callers remove the directory. */
export interface ScriptedHarness {
  readonly directory: string;
  readonly agent: string;
  /** For `HARNESSES_FILE`. */
  readonly file: string;
}

export function createScriptedHarness(): ScriptedHarness {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-agent-'));
  // Executions with separate users must be able to read the agent.
  chmodSync(directory, 0o755);
  const [agent, file] = [join(directory, 'agent.mjs'), join(directory, 'harnesses.json')];
  copyFileSync(AGENT, agent);
  writeFileSync(file, JSON.stringify({ harnesses: { scripted: { command: process.execPath, args: [agent] } } }));
  return { directory, agent, file };
}
