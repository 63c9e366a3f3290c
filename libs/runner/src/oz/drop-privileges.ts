/** `uid:gid`: the user that the built-in agent becomes once its code is loaded. */
export const RUN_AS_VARIABLE = 'HEADRACE_RUN_AS';

/**
 * Gives up the user that the process was started with, for good. To be called when every module is loaded: afterwards
 * the files they came from may be out of reach. Throws when it does not succeed completely.
 */
export function dropPrivileges(): void {
  const wanted = process.env[RUN_AS_VARIABLE];
  delete process.env[RUN_AS_VARIABLE];
  process.umask(0o077);
  if (wanted === undefined) return;
  const match = /^([1-9]\d{0,9}):([1-9]\d{0,9})$/.exec(wanted);
  if (!match || !process.setgroups || !process.setgid || !process.setuid) {
    throw new Error(`${RUN_AS_VARIABLE} is not a user and group that can be taken on.`);
  }
  const [uid, gid] = [Number(match[1]), Number(match[2])];
  process.setgroups([gid]);
  process.setgid(gid);
  process.setuid(uid);
  if (process.getuid?.() !== uid || process.getgid?.() !== gid || canBecomeRoot(process.setuid)) {
    throw new Error('The privileges could not be given up completely.');
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
