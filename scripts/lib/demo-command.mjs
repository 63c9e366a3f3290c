import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { DemoFailed } from './api.mjs';
import { indent } from './demo-print.mjs';
import { inRoot } from './paths.mjs';

/**
 * Runs a command of `headrace` as somebody at a shell would, shows it with what it says, and returns its standard output.
 * `input` is its standard input, which is not shown. Fails unless the command ends with `code`.
 */
export async function headrace(args, { input = '', code = 0 } = {}) {
  console.log(`   $ headrace ${args.map(quote).join(' ')}`);
  // Without a token of our own it takes the one of the instance that runs.
  const environment = { ...process.env, HEADRACE_TOKEN: '' };
  const child = spawn(process.execPath, [inRoot('bin/headrace.mjs'), ...args], { env: environment });
  const chunks = { stdout: [], stderr: [] };
  for (const name of ['stdout', 'stderr']) child[name].on('data', (chunk) => chunks[name].push(chunk));
  child.stdin.on('error', () => undefined); // It ended before it read; its exit code tells.
  child.stdin.end(input);
  const [ended] = await once(child, 'close');
  const [output, errors] = [Buffer.concat(chunks.stdout).toString(), Buffer.concat(chunks.stderr).toString()];
  if (errors || output) console.log(indent(errors + output, 5));
  if (ended !== code) throw new DemoFailed(`headrace ${args[0]} ended with ${ended}: ${errors}`);
  return output;
}

const quote = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text}'`);
