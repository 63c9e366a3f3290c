import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestOrder } from './request-order.js';

/** Checks during the limit, so that a client is disconnected at most a sixth later. */
const CHECKS = 6;

/** What is not sent of a response, and how much was written before. */
interface Progress {
  readonly written: number;
  readonly queued: number;
  /** Checks that have found the same. */
  readonly checks: number;
}

/**
 * Disconnects clients that read nothing of a response for the time, as long as there is something to send. The timeout of the
 * sockets of Node.js does not do it: it begins again when the client sends something, and once more when it ends for the first time.
 */
export function disconnectStalled(server: Server, order: RequestOrder, stalledMs: number): void {
  const known = new WeakMap<Socket, Progress>();
  const check = (): void => {
    for (const socket of order.sockets()) {
      const { written, queued } = stateOf(socket);
      const before = known.get(socket);
      const isSame = before?.written === written && before.queued === queued;
      const checks = isSame && queued > 0 ? before.checks + 1 : 0;
      known.set(socket, { written, queued, checks });
      if (checks >= CHECKS) socket.destroy();
    }
  };
  const timer = setInterval(check, stalledMs / CHECKS).unref();
  server.once('close', () => clearInterval(timer));
}

interface Handle {
  readonly writeQueueSize?: number;
  /** The connection below a handle of TLS, whose own size changes only when all of a write is sent. */
  readonly _parent?: Handle;
}

function stateOf(socket: Socket): Omit<Progress, 'checks'> {
  // Node.js counts a write as written when it begins. Only the handles know how much of it the system has taken.
  const { _handle: handle } = socket as Socket & { readonly _handle?: Handle | null };
  const inHandles = (handle?.writeQueueSize ?? 0) + (handle?._parent?.writeQueueSize ?? 0);
  return { written: socket.bytesWritten, queued: inHandles > 0 ? inHandles : socket.writableLength };
}
