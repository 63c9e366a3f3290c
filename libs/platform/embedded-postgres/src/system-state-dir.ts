import { chmodSync, lstatSync, mkdirSync } from 'node:fs';

/** Where root keeps what another user must reach although the data directory is closed to it. Not under /tmp: cleaners empty that. */
const CANDIDATES = ['/var/lib/headrace', '/var/tmp/headrace-root'];

/** A directory that belongs to root and that everybody may pass through. Throws when there is none. */
export function systemStateDir(): string {
  const reasons: string[] = [];
  for (const directory of CANDIDATES) {
    try {
      // The umask may have taken from a new directory what its purpose needs.
      if (mkdirSync(directory, { recursive: true }) !== undefined) chmodSync(directory, 0o711);
      const { mode, uid } = lstatSync(directory);
      const isDirectory = (mode & 0o170000) === 0o040000;
      if (isDirectory && uid === process.getuid?.() && (mode & 0o022) === 0 && (mode & 0o001) !== 0) return directory;
      reasons.push(`${directory} is not a directory of ours that others may pass through`);
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(`No place for the embedded PostgreSQL that the user it runs as can reach: ${reasons.join('; ')}.`);
}
