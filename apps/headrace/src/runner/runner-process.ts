import { type Clock, findProgram } from '#platform/kernel';
import { jsonLinesLog } from '#execution/runner';

const EXIT_GRACE_MS = 1_000;

/** Entry of the command line, for children that are started from it. */
export const OWN_ENTRY = findProgram();

/** Arguments with which Node runs the built-in agent. */
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

export interface StopSignals {
  readonly drain: AbortSignal;
  readonly abort: AbortSignal;
}

/** The first of these signals drains, the second aborts. SIGHUP is ignored unless it is one of them. */
export function stopSignals(names: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT']): StopSignals {
  const [drain, abort] = [new AbortController(), new AbortController()];
  for (const name of names) process.on(name, () => (drain.signal.aborted ? abort : drain).abort());
  if (!names.includes('SIGHUP')) process.on('SIGHUP', () => undefined);
  return { drain: drain.signal, abort: abort.signal };
}

export const stderrLine = (line: string): void => void process.stderr.write(line);

/** Keeps standard error a log of JSON lines. */
export function keepLogClean(clock: Clock): void {
  // The reader of the log may exit first. The execution then ends by its lease, not by a broken pipe.
  process.stderr.on('error', () => undefined);
  // Output of libraries must neither break the format of the log nor show their arguments.
  for (const method of ['error', 'warn', 'log'] as const)
    console[method] = (first: unknown) => jsonLinesLog(stderrLine, clock).warn(String(first));
}

/** The execution has ended; a socket that lingers must not keep the process alive. */
export function exitSoon(code: number): number {
  setTimeout(() => process.exit(code), EXIT_GRACE_MS).unref();
  return code;
}
