import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';

/** Columns of /proc/net/tcp. */
const LOCAL = 1;
const REMOTE = 2;
const UID = 7;

/** The user whose process has opened a connection over 127.0.0.1, as the system knows it; null: unknown. */
export function peerUser({ remotePort, localPort }: Pick<Socket, 'remotePort' | 'localPort'>): number | null {
  if (remotePort === undefined || localPort === undefined) return null;
  const [theirs, ours] = [addressOf(remotePort), addressOf(localPort)];
  for (const line of readFileSync('/proc/net/tcp', 'latin1').split('\n')) {
    const columns = line.trim().split(/\s+/);
    if (columns[LOCAL] === theirs && columns[REMOTE] === ours) return Number(columns[UID]);
  }
  return null;
}

/** The file has addresses in the order of bytes of the machine. */
const [LOOPBACK = 0] = new Uint32Array(Uint8Array.of(127, 0, 0, 1).buffer);

const addressOf = (port: number): string => `${hex(LOOPBACK, 8)}:${hex(port, 4)}`;
const hex = (value: number, digits: number): string => value.toString(16).toUpperCase().padStart(digits, '0');
