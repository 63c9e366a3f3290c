import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';

/** Columns of /proc/net/tcp. */
const LOCAL = 1;
const REMOTE = 2;
const STATE = 3;
const UID = 7;
const INODE = 9;
const ESTABLISHED = '01';

/**
 * The user whose process has opened a connection over 127.0.0.1, as the system knows it; null: unknown. So is the user of a connection
 * that its process has closed: the system shows root for it.
 */
export function peerUser({ remotePort, localPort }: Pick<Socket, 'remotePort' | 'localPort'>): number | null {
  if (remotePort === undefined || localPort === undefined) return null;
  const [theirs, ours] = [addressOf(remotePort), addressOf(localPort)];
  for (const line of readFileSync('/proc/net/tcp', 'latin1').split('\n')) {
    const columns = line.trim().split(/\s+/);
    if (columns[LOCAL] !== theirs || columns[REMOTE] !== ours) continue;
    return columns[STATE] === ESTABLISHED && Number(columns[INODE]) > 0 ? Number(columns[UID]) : null;
  }
  return null;
}

/** The file has addresses in the order of bytes of the machine. */
const [LOOPBACK = 0] = new Uint32Array(Uint8Array.of(127, 0, 0, 1).buffer);

const addressOf = (port: number): string => `${hex(LOOPBACK, 8)}:${hex(port, 4)}`;
const hex = (value: number, digits: number): string => value.toString(16).toUpperCase().padStart(digits, '0');
