import { createHash } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { changeOwner, type ServerAccount, systemStateDir } from './server-account.js';

/** Only part of the socket's file name: there is one server in each directory, and no network port. */
export const SOCKET_PORT = 5432;
const SOCKET_NAME = `.s.PGSQL.${SOCKET_PORT}`;
/** `sun_path` holds 104 bytes on macOS and 108 on Linux, the terminating zero included. */
const MAX_SOCKET_PATH_BYTES = 103;

interface SocketOwner {
  /** The cluster's directory. */
  readonly directory: string;
  readonly account: ServerAccount;
}

/**
 * The directory of the server's Unix socket, which only the server's account (and root) may enter: the cluster's own, or
 * a short one where that path is too long for a socket. `agreed`: the one that other processes have in their connection
 * pools.
 */
export function openSocketDirectory(owner: SocketOwner, agreed: string | null): string {
  const { directory, account } = owner;
  if (fits(directory)) return directory;
  // The name contains a hash of the cluster: a copy of the data directory contains the file with the name too.
  const prefix = `headrace-postgres-${createHash('sha256').update(directory).digest('hex').slice(0, 12)}-`;
  if (agreed !== null && basename(agreed).startsWith(prefix) && ensurePrivate(agreed, account)) return agreed;
  const bases = account ? [systemStateDir()] : [tmpdir(), '/tmp'];
  const base = bases.find((candidate) => fits(join(candidate, `${prefix}XXXXXX`))) ?? '/tmp';
  const made = mkdtempSync(join(base, prefix));
  changeOwner(made, account);
  return made;
}

/** Removes the socket of a server that has ended: its lock file names a process whose number may be in use again. */
export function clearSocket(socketDirectory: string): void {
  for (const name of [SOCKET_NAME, `${SOCKET_NAME}.lock`]) rmSync(join(socketDirectory, name), { force: true });
}

export function removeSocketDirectory({ directory }: SocketOwner, socketDirectory: string): void {
  if (socketDirectory !== directory) rmSync(socketDirectory, { recursive: true, force: true });
}

const fits = (directory: string): boolean => Buffer.byteLength(join(directory, SOCKET_NAME)) <= MAX_SOCKET_PATH_BYTES;

/** Creates it again when it was removed. False when a file of another user has its name. */
function ensurePrivate(directory: string, account: ServerAccount): boolean {
  const uid = account?.uid ?? process.getuid?.();
  const found = lstatSync(directory, { throwIfNoEntry: false });
  if (found) return found.isDirectory() && found.uid === uid && (found.mode & 0o077) === 0;
  if (!existsSync(dirname(directory))) return false;
  mkdirSync(directory, { mode: 0o700 });
  changeOwner(directory, account);
  return true;
}
