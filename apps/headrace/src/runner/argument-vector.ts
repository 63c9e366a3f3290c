/** The arguments of worker daemons that `headrace agent run` uses. */
export interface ArgumentVector {
  readonly taskId: string;
  /** Empty when it is missing. */
  readonly serverRootUrl: string;
  readonly workspace: string | undefined;
  /** Null when it is missing: the session ends with its turn. Empty without a value. */
  readonly idleOnComplete: string | null;
  /** Names of unused arguments, without their values, which may be secret. */
  readonly ignored: readonly string[];
}

const SWITCHES = new Set(['sandboxed', 'computer-use', 'no-computer-use', 'no-snapshot']);
/** Arguments whose value is the next one, even if it begins with hyphens. */
const WITH_VALUE = new Set(['task-id', 'server-root-url', 'workspace', 'model', 'skill', 'mcp', 'harness', 'share']);

/** Reads `--flag value` and `--flag=value`; ignores unknown arguments together with what looks like their value. */
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

/** The assignment of the server contains everything else. */
const USED = new Set(['task-id', 'server-root-url', 'workspace', 'idle-on-complete']);

/** `0s`, `0m`, `0`: the session does not wait for messages. Otherwise the configuration of the run sets how long it waits. */
export function endsWithItsTurn(idleOnComplete: string | null): boolean {
  return idleOnComplete === null || /^0+(\.0+)?(ms|s|m|h)?$/.test(idleOnComplete);
}
