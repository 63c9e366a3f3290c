/** What `headrace agent run` understands of the arguments with which worker daemons start a runner. */
export interface ArgumentVector {
  readonly taskId: string;
  /** Empty: not given. */
  readonly serverRootUrl: string;
  readonly workspace: string | undefined;
  /** null: not given, the session ends with its turn. Empty: given without a value. */
  readonly idleOnComplete: string | null;
  /** Names of the arguments that mean nothing here. Their values may be secret. */
  readonly ignored: readonly string[];
}

/** They stand alone, so that what follows is not their value. */
const SWITCHES = new Set(['sandboxed', 'computer-use', 'no-computer-use', 'no-snapshot']);
/** Their value is what follows, whatever it looks like. */
const WITH_VALUE = new Set(['task-id', 'server-root-url', 'workspace', 'model', 'skill', 'mcp', 'harness', 'share']);

/** Reads `--flag value` and `--flag=value`; what is not known is left alone with what looks like its value. */
export function readArgumentVector(args: readonly string[]): ArgumentVector {
  const given = new Map<string, string>();
  const ignored: string[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    const [, name, , inline] = /^--([^=]+)(=([^]*))?$/.exec(arg) ?? [];
    if (name === undefined) {
      ignored.push(arg.startsWith('-') ? arg : '(a word)');
      continue;
    }
    const next = inline === undefined ? valueAfter(name, args[index + 1]) : undefined;
    if (next !== undefined) index += 1;
    given.set(name, inline ?? next ?? '');
    if (!USED.has(name)) ignored.push(`--${name}`);
  }
  return {
    taskId: given.get('task-id') ?? '',
    serverRootUrl: given.get('server-root-url') ?? '',
    workspace: given.get('workspace'),
    idleOnComplete: given.get('idle-on-complete') ?? null,
    ignored,
  };
}

function valueAfter(name: string, next: string | undefined): string | undefined {
  if (next === undefined || SWITCHES.has(name)) return undefined;
  return WITH_VALUE.has(name) || !next.startsWith('--') ? next : undefined;
}

/** The server says the rest in its assignment. */
const USED = new Set(['task-id', 'server-root-url', 'workspace', 'idle-on-complete']);

/** `0s`, `0m`, `0`: the session is not to wait for messages at all. How long it waits otherwise is the run's own setting. */
export function endsWithItsTurn(idleOnComplete: string | null): boolean {
  return idleOnComplete === null || /^0+(\.0+)?(ms|s|m|h)?$/.test(idleOnComplete);
}
