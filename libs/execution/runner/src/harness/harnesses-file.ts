import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { HarnessDefinition } from '#execution/runner-protocol';
import { BUILTIN_HARNESS, STANDARD_HARNESSES } from './harnesses.js';
import { findCommand, searchPath } from '../process/child-environment.js';

/** A variable of an agent's environment; names that begin with HEADRACE_ are reserved. */
const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,255}$/, 'is not a valid variable name')
  .refine((name) => !name.startsWith('HEADRACE_'), 'begins with HEADRACE_, which is reserved');

const value = z.string().max(32_768);

const parts = {
  command: z
    .string()
    .min(1)
    .max(4096)
    .refine((command) => !command.includes('/') || command.startsWith('/'), 'must be a name, or an absolute path'),
  args: z.array(value).max(256),
  env: z.record(variable, value),
  install_hint: z.string().trim().min(1).max(1024),
  auth_variable: variable,
  auth_method: z.string().min(1).max(256),
  secrets: z.record(variable, z.string().min(1).max(256)),
  transcript_path: z.string().regex(/^\{home\}\/[^/]/, 'must begin with {home}/'),
  transcript_cwd_field: z.string().min(1).max(64),
  state_paths: z
    .array(z.string().regex(/^\{home\}(\/(?!\.{1,2}(\/|$))[^/{}]+)+$/, 'must be a path below {home}/'))
    .max(32),
  usage_scope: z.enum(['turn', 'session']),
  permission_modes: z.strictObject({ ask: z.string().min(1).max(256), allow: z.string().min(1).max(256) }).partial(),
  permission_env: z.record(variable, value),
  permission_session_meta: z.record(z.string(), z.unknown()),
  client_meta: z.record(z.string(), z.unknown()),
  session_meta: z.record(z.string(), z.unknown()),
};

/** An entry of the file that HARNESSES_FILE names: missing fields have the values of the table of known agents. */
export const harnessEntry = z.strictObject(parts).partial();

/** The file that HARNESSES_FILE names is invalid; `problems` are sentences with the path of the field. */
export class HarnessesFileError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(problems.join(' '));
  }
}

const id = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'is not a valid id: at most 64 lower-case letters, digits, _ and -')
  .refine((name) => name !== BUILTIN_HARNESS, 'is the built-in agent, which cannot be changed');

const file = z.strictObject({ harnesses: z.record(id, harnessEntry) });

/**
 * The harnesses of the file `{"harnesses": {"<id>": {"command", "args", "env", …}}}` by their ids; none when the path is
 * empty. An entry with the id of a known agent changes only the given fields, and in `env` the given variables. Throws a
 * HarnessesFileError that lists every problem.
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
      problems.push(`HARNESSES_FILE, harnesses.${name}.command: is required for an unknown agent.`);
      return [];
    }
    const env = { ...known?.env, ...entry.env };
    const rest = { args: [], install_hint: HINT, ...known, ...entry };
    return [[name, { ...rest, command, ...(Object.keys(env).length === 0 ? {} : { env }) }]];
  });
  if (problems.length > 0) throw new HarnessesFileError(problems);
  return Object.fromEntries(harnesses);
}

/** A harness that is defined by code. Throws an Error that names every invalid field. */
export function parseHarness(name: string, definition: HarnessDefinition): HarnessDefinition {
  const named = id.safeParse(name);
  const parsed = z
    .strictObject(parts)
    .partial()
    .required({ command: true, args: true, install_hint: true })
    .safeParse(definition);
  const issues = [...(named.error?.issues ?? []), ...(parsed.error?.issues ?? [])];
  if (issues.length === 0) return definition;
  const problems = issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': '));
  throw new Error(`The harness ${name} is not valid: ${problems.join('; ')}.`);
}

const HINT = 'ask the administrator of the machine; the file that HARNESSES_FILE names contains the command';

function parseFile(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new HarnessesFileError([`HARNESSES_FILE cannot be read as JSON (${reason}).`]);
  }
}

/** Names the field and never repeats a value: `env` may contain secrets. */
function sentence({ path, message, code, ...issue }: z.core.$ZodIssue): string {
  const place = path.map(String).join('.') || 'the file';
  const reason =
    code === 'invalid_key' && 'issues' in issue ? issue.issues.map((inner) => inner.message).join('; ') : message;
  return `HARNESSES_FILE, ${place}: ${reason}.`;
}

export interface DetectedHarness {
  readonly id: string;
  readonly installed: boolean;
  /** Of the npm package that the command belongs to, or that its first argument does where the command is Node. */
  readonly version?: string;
}

const MAX_LEVELS = 6;

/** Finds commands as a run does, and starts nothing. Leaves out the built-in agent, a part of Headrace. */
export function detectHarnesses(extra: Readonly<Record<string, HarnessDefinition>>): Promise<DetectedHarness[]> {
  const all = Object.entries({ ...STANDARD_HARNESSES, ...extra });
  return Promise.resolve(
    all.map(([id, { command, args, env }]) => {
      const found = findCommand(command, env?.['PATH'] ?? searchPath());
      if (found === null) return { id, installed: false };
      const version = versionOf([args[0] ?? '', found].filter((path) => path.startsWith('/')));
      return { id, installed: true, ...(version === undefined ? {} : { version }) };
    }),
  );
}

/** Programs of npm are in a directory below the package.json of their package. */
function versionOf(programs: readonly string[]): string | undefined {
  for (const program of programs) {
    try {
      let directory = dirname(realpathSync(program));
      for (let level = 0; level < MAX_LEVELS && directory !== dirname(directory); level += 1) {
        const version = packageVersion(join(directory, 'package.json'));
        if (version !== undefined) return version;
        directory = dirname(directory);
      }
    } catch {
      continue; // not a file that can be read: the next one may be
    }
  }
  return undefined;
}

function packageVersion(path: string): string | undefined {
  try {
    const { name, version } = JSON.parse(readFileSync(path, 'utf8')) as { name?: unknown; version?: unknown };
    return typeof name === 'string' && typeof version === 'string' ? version.slice(0, 64) : undefined;
  } catch {
    return undefined; // none here: perhaps further up
  }
}
