import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { HarnessDefinition } from '#execution/runner-protocol';
import { harnessEntry } from './harness-schema.js';
import { BUILTIN_HARNESS, STANDARD_HARNESSES } from './harnesses.js';

/** The file that HARNESSES_FILE names is of no use; `problems` are whole sentences that name their place. */
export class HarnessesFileError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(problems.join(' '));
  }
}

const id = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'is no id: at most 64 lower-case letters, digits, _ and -')
  .refine((name) => name !== BUILTIN_HARNESS, 'is the built-in agent, which is always there as it is');

const file = z.strictObject({ harnesses: z.record(id, harnessEntry) });

/**
 * The harnesses of the file `{"harnesses": {"<id>": {"command", "args", "env", …}}}` by their ids; none when the path is
 * empty. An entry with the id of a known agent changes only what it says, variable by variable in `env`. Throws a
 * HarnessesFileError that lists every fault.
 */
export function readHarnessesFile(path: string): Record<string, HarnessDefinition> {
  if (path === '') return {};
  const result = file.safeParse(parseFile(path));
  if (!result.success) throw new HarnessesFileError(result.error.issues.map(sentence));
  const problems: string[] = [];
  const harnesses = Object.entries(result.data.harnesses).flatMap(([name, entry]): [string, HarnessDefinition][] => {
    const known = Object.hasOwn(STANDARD_HARNESSES, name) ? STANDARD_HARNESSES[name] : undefined;
    const command = entry.command ?? known?.command;
    if (command === undefined) {
      problems.push(`HARNESSES_FILE, harnesses.${name}.command: is required for an agent that is not known.`);
      return [];
    }
    const env = { ...known?.env, ...entry.env };
    const rest = { args: [], install_hint: HINT, ...known, ...entry };
    return [[name, { ...rest, command, ...(Object.keys(env).length === 0 ? {} : { env }) }]];
  });
  if (problems.length > 0) throw new HarnessesFileError(problems);
  return Object.fromEntries(harnesses);
}

const HINT = 'ask whoever looks after the machine; the file that HARNESSES_FILE names says which command is meant';

function parseFile(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new HarnessesFileError([`HARNESSES_FILE cannot be read as JSON (${reason}).`]);
  }
}

/** Names the place and never repeats a value: `env` may hold what nobody should read in a log. */
function sentence({ path, message, code, ...issue }: z.core.$ZodIssue): string {
  const place = path.map(String).join('.') || 'the file';
  const told =
    code === 'invalid_key' && 'issues' in issue ? issue.issues.map((inner) => inner.message).join('; ') : message;
  return `HARNESSES_FILE, ${place}: ${told}.`;
}
