/** `uid:gid`: the user that the built-in agent becomes once its code is loaded. */
const RUN_AS_VARIABLE = 'HEADRACE_RUN_AS';
/** `HEADRACE_LATER_X=…` becomes `X=…` once the privileges are dropped. */
const LATER_PREFIX = 'HEADRACE_LATER_';
const KEPT = ['HEADRACE_EXECUTION_MARKER', 'HEADRACE_RUN_ID', 'HEADRACE_ARTIFACTS_DIR', 'HEADRACE_ATTACHMENTS_DIR'];

/**
 * The environment in which the built-in agent starts, while it still has the user of the runner. Variables of the run
 * must affect neither Node (NODE_OPTIONS, HOME) nor the loader (LD_PRELOAD) there: they are passed under other names until
 * the privileges are dropped.
 */
export function environmentBeforePrivilegeDrop(
  environment: Readonly<Record<string, string>>,
  { uid, gid }: { readonly uid: number; readonly gid: number },
): Record<string, string> {
  const carried = Object.entries(environment).map(([name, value]) => [
    KEPT.includes(name) ? name : LATER_PREFIX + name,
    value,
  ]);
  const plain = { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', HOME: '/nonexistent', [RUN_AS_VARIABLE]: `${uid}:${gid}` };
  return { ...(Object.fromEntries(carried) as Record<string, string>), ...plain };
}

/**
 * Drops the privileges of the process permanently. To be called when every module is loaded: afterwards their files may
 * not be readable. Throws when it does not succeed completely.
 */
export function dropPrivileges(): void {
  const wanted = process.env[RUN_AS_VARIABLE];
  delete process.env[RUN_AS_VARIABLE];
  if (wanted === undefined) return;
  process.umask(0o077);
  const match = /^([1-9]\d{0,9}):([1-9]\d{0,9})$/.exec(wanted);
  if (!match || !process.setgroups || !process.setgid || !process.setuid) {
    throw new Error(`${RUN_AS_VARIABLE} is not a valid user and group.`);
  }
  const [uid, gid] = [Number(match[1]), Number(match[2])];
  process.setgroups([gid]);
  process.setgid(gid);
  process.setuid(uid);
  if (process.getuid?.() !== uid || process.getgid?.() !== gid || canBecomeRoot(process.setuid)) {
    throw new Error('The privileges could not be dropped completely.');
  }
  restoreEnvironment();
}

/** For the commands of the agent; its own Node and loader have been started without it. */
function restoreEnvironment(): void {
  for (const [name, value] of Object.entries(process.env)) {
    if (!name.startsWith(LATER_PREFIX)) continue;
    delete process.env[name];
    process.env[name.slice(LATER_PREFIX.length)] = value;
  }
}

function canBecomeRoot(setuid: (id: number) => void): boolean {
  try {
    setuid(0);
    return true;
  } catch {
    return false;
  }
}
