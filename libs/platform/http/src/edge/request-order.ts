import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * One request at a time on each connection. Node.js passes on all requests that a client sends without waiting for responses
 * (pipelining): some kilobytes are then the work of thousands of requests, and a response that waits behind another one emits
 * nothing when the connection closes. Such a connection ends after the response to its first request, and the client repeats
 * the other requests (RFC 9112, section 9.3.2).
 */
export class RequestOrder {
  private readonly unfinished = new WeakMap<Socket, ServerResponse>();
  private readonly ending = new WeakSet<Socket>();

  /** False: the request must not be executed, and gets no response. */
  admit({ socket }: IncomingMessage, response: ServerResponse): boolean {
    if (this.ending.has(socket)) return false;
    const earlier = this.unfinished.get(socket);
    if (earlier) {
      this.endAfter(earlier, socket);
      return false;
    }
    this.unfinished.set(socket, response);
    const finish = (): void => void this.unfinished.delete(socket);
    // Not `end`: the response may still wait for its client.
    response.once('finish', finish).once('close', finish);
    return true;
  }

  /** A request of the connection is executed, or its response is being sent. */
  isBusy(socket: Socket): boolean {
    return this.unfinished.has(socket);
  }

  private endAfter(response: ServerResponse, socket: Socket): void {
    this.ending.add(socket);
    socket.pause();
    // Sends `Connection: close` if the headers were not sent.
    response.shouldKeepAlive = false;
    response.once('close', () => socket.destroySoon());
  }
}
