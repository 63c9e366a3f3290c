import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A connection to the server at this URL, which ends with the test. */
export function connectTo(url: string): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket;
}
