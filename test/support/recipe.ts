import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import type { Installation } from './installation.js';

const execute = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BLOCK = /^```(sh|yaml|json|markdown)(?: file=(\S+))?\n([\s\S]*?)^```$/gm;

/** The blocks of commands in a text of Markdown, in their order. */
export const shellBlocks = (text: string): string[] =>
  [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);

export const recipeText = (page: string): string => readFileSync(join(ROOT, 'docs/recipes', page), 'utf8');

/**
 * Writes the files of a page into a directory, and executes its commands there, in their order. `changes` are texts of the page and what
 * replaces them; each of them has to occur. Returns what the commands print. A page has to name each file in the text before its
 * block: the name beside the kind of a block is not shown to readers.
 */
export async function followRecipe(
  page: string,
  place: string,
  installation: Installation,
  changes: Readonly<Record<string, string>>,
): Promise<string> {
  const changed = (text: string): string =>
    Object.entries(changes).reduce((whole, [from, to]) => whole.replaceAll(from, () => to), text);
  const text = recipeText(page);
  for (const from of Object.keys(changes)) expect(text).toContain(from);
  const commands: string[] = [];
  for (const { 1: kind, 2: file, 3: content = '', index } of text.matchAll(BLOCK)) {
    if (file === undefined) {
      expect(kind).toBe('sh');
      commands.push(changed(content));
      continue;
    }
    expect(text.slice(0, index).replaceAll(BLOCK, ''), page).toContain(`\`${file}\``);
    mkdirSync(dirname(join(place, file)), { recursive: true });
    writeFileSync(join(place, file), changed(content));
  }
  const { base_url: baseUrl, token, team_uid: team, factory_uid: factory } = installation.connection;
  const script = `set -e\nexec 2>&1\nheadrace() { node ${join(ROOT, 'bin/headrace.mjs')} "$@"; }\n${commands.join('\n')}`;
  const env = {
    ...process.env,
    ...installation.environment,
    ...{ HEADRACE_URL: new URL(baseUrl).origin, HEADRACE_TOKEN: token, TEAM: team, FACTORY: factory },
  };
  // Not synchronously: agents clone from servers of this process.
  const { stdout } = await execute('bash', ['-c', script], { cwd: place, env }).catch((error: { stdout?: string }) => {
    throw new Error(`The commands of ${page} have failed:\n${error.stdout}`, { cause: error });
  });
  return stdout;
}
