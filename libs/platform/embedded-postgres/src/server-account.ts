import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** The numeric user that PostgreSQL runs as; null means "as ourselves". PostgreSQL refuses to run as root. */
export type ServerAccount = { readonly uid: number; readonly gid: number } | null;

/** As root: the owner of an existing cluster, else `nobody`. No user is ever added to the system. */
export function serverAccount(clusterDir: string): ServerAccount {
  if (process.getuid?.() !== 0) return null;
  const existing = statSync(clusterDir, { throwIfNoEntry: false });
  if (existing && existing.uid !== 0) return { uid: existing.uid, gid: existing.gid };
  return nobody();
}

function nobody(): { uid: number; gid: number } {
  const passwd = existsSync('/etc/passwd') ? readFileSync('/etc/passwd', 'utf8') : '';
  const [, uid, gid] = /^nobody:[^:]*:(\d+):(\d+)/m.exec(passwd) ?? [];
  const parsed = { uid: Number(uid), gid: Number(gid) };
  return parsed.uid > 0 && parsed.gid > 0 ? parsed : { uid: 65_534, gid: 65_534 };
}

export function changeOwner(path: string, account: ServerAccount): void {
  if (account) chownSync(path, account.uid, account.gid);
}

/** Whether the account may traverse every directory from the root to `directory`, which must exist. */
export function canReach(directory: string, account: ServerAccount): boolean {
  if (account === null) return true;
  for (let at = resolve(directory); ; at = dirname(at)) {
    const { mode, uid, gid } = statSync(at);
    const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (at === dirname(at)) return true;
  }
}

/** Where root stores files that another user must reach although the data directory is closed to it. Not under /tmp, which is cleaned. */
const CANDIDATES = ['/var/lib/headrace', '/var/tmp/headrace-root'];

/** A directory that belongs to root and that every user may traverse. Throws when there is none. */
export function systemStateDir(): string {
  const reasons: string[] = [];
  for (const directory of CANDIDATES) {
    try {
      // The umask may have removed permissions that the directory needs.
      if (mkdirSync(directory, { recursive: true }) !== undefined) chmodSync(directory, 0o711);
      const { mode, uid } = lstatSync(directory);
      const isDirectory = (mode & 0o170000) === 0o040000;
      if (isDirectory && uid === process.getuid?.() && (mode & 0o022) === 0 && (mode & 0o001) !== 0) return directory;
      reasons.push(`${directory} is not a directory of this user that others may traverse`);
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(
    `No directory for the embedded PostgreSQL is accessible to the user that it runs as: ${reasons.join('; ')}.`,
  );
}
