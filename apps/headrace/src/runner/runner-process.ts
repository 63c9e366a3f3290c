import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { findProgram } from '#platform/kernel';

const EXIT_GRACE_MS = 1_000;

/** Entry of the command line, for children that are started from it. */
export const OWN_ENTRY = findProgram();

export const BUILTIN_AGENT_ARGS = [OWN_ENTRY, 'builtin-agent'];

/** Variables that configure the runner process and are not for its children. */
const OWN_VARIABLES =
  /^(HEADRACE_|TASK_ID$|WARP_SERVER_ROOT_URL$|HARNESSES_FILE$|NODE_CHANNEL_FD$|_$|PWD$|OLDPWD$|SHLVL$)/;

/** The environment that commands and agent inherit; secrets must be removed from it before. */
export const inheritedEnvironment = (environment: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value === undefined || OWN_VARIABLES.test(name) ? [] : [[name, value] as const],
    ),
  );

/** The first of these signals drains, the second aborts. SIGHUP is ignored unless it is one of them. */
export function stopSignals(names: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT']): {
  readonly drain: AbortSignal;
  readonly abort: AbortSignal;
} {
  const [drain, abort] = [new AbortController(), new AbortController()];
  for (const name of names) process.on(name, () => (drain.signal.aborted ? abort : drain).abort());
  if (!names.includes('SIGHUP')) process.on('SIGHUP', () => undefined);
  return { drain: drain.signal, abort: abort.signal };
}

export const stderrLine = (line: string): void => void process.stderr.write(line);

/** Keeps standard error a log of JSON lines. */
export function keepLogClean(warn: (message: string) => void): void {
  // The reader of the log may exit first. The execution then ends by its lease, not by a broken pipe.
  process.stderr.on('error', () => undefined);
  // Output of libraries must neither break the format of the log nor show their arguments.
  for (const method of ['error', 'warn', 'log'] as const) console[method] = (first: unknown) => warn(String(first));
}

/** The execution has ended; a socket that lingers must not keep the process alive. */
export function exitSoon(code: number): number {
  setTimeout(() => process.exit(code), EXIT_GRACE_MS).unref();
  return code;
}

/** The keys of a worker daemon, which neither runners nor agents may read. */
export const DAEMON_KEYS = ['HEADRACE_TOKEN', 'WARP_API_KEY'] as const;

/**
 * Removes variables from the environment of this process and returns their values. On Linux it also overwrites the copy in
 * /proc, which other processes of the user can read and which keeps the state of the start of the process otherwise.
 */
export function removeFromEnvironment<Name extends string>(names: readonly Name[]): Readonly<Record<Name, string>> {
  const values = Object.fromEntries(names.map((name) => [name, process.env[name] ?? ''])) as Record<Name, string>;
  for (const name of names) delete process.env[name];
  overwrite(names);
  return values;
}

function overwrite(names: readonly string[]): void {
  let memory: number | undefined;
  try {
    const environ = readFileSync('/proc/self/environ');
    const start = environmentStart();
    if (start === 0) return;
    for (const name of names) {
      for (const { from, length } of valuesOf(environ, name)) {
        memory ??= openSync('/proc/self/mem', 'r+');
        writeSync(memory, Buffer.alloc(length, 'x'), 0, length, start + from);
      }
    }
  } catch {
    return; // other systems, or a system that forbids it: our own children still do not inherit the variables
  } finally {
    if (memory !== undefined) closeSync(memory);
  }
}

/** Address of the environment in the memory of the process: field 50 of /proc/self/stat; 0 when it is not available. */
function environmentStart(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const start = Number(fields[47]);
  return Number.isSafeInteger(start) ? start : 0;
}

function valuesOf(environ: Buffer, name: string): { from: number; length: number }[] {
  const found: { from: number; length: number }[] = [];
  const prefix = Buffer.from(`${name}=`);
  for (let at = 0; at < environ.length;) {
    const end = environ.indexOf(0, at);
    const stop = end < 0 ? environ.length : end;
    if (environ.subarray(at, stop).subarray(0, prefix.length).equals(prefix))
      found.push({ from: at + prefix.length, length: stop - at - prefix.length });
    at = stop + 1;
  }
  return found;
}
