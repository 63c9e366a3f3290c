import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Execute = () => void;

/**
 * One request at a time on each connection. Node.js passes on all requests that a client sends without waiting for responses
 * (pipelining): some kilobytes are then the work of thousands of requests, and a response that waits behind another one emits
 * nothing when the connection closes. One request may wait: a client can know that a response is complete before the server
 * has closed it. With a further one the connection ends after the response in progress; clients repeat the
 * other requests (RFC 9112, section 9.3.2).
 */
export class RequestOrder {
  private readonly unfinished = new Map<Socket, ServerResponse>();
  private readonly waiting = new WeakMap<Socket, Execute>();
  private readonly ending = new WeakSet<Socket>();

  /** Calls the function now, when the response before is closed, or never. */
  admit(request: IncomingMessage, response: ServerResponse, execute: Execute): void {
    const { socket } = request;
    if (this.ending.has(socket)) return;
    const earlier = this.unfinished.get(socket);
    if (earlier === undefined) {
      // Node.js has responded to the request before by itself, for example because it has no `Host`.
      if (response.socket !== socket) this.end(socket);
      else this.begin(socket, response, execute);
    } else if (this.waiting.has(socket)) {
      this.endAfter(earlier, socket);
    } else {
      this.waiting.set(socket, () => {
        // Node.js has responded by itself to a request between them.
        if (response.socket !== socket) this.end(socket);
        else this.begin(socket, response, execute);
      });
    }
  }

  /** Executes no further request of the connection, and ends it after this response. */
  endAfter(response: ServerResponse, socket: Socket): void {
    this.waiting.delete(socket);
    // Sends `Connection: close` if the headers were not sent.
    response.shouldKeepAlive = false;
    this.end(socket, response);
  }

  /** Of the request that is executed, or whose response is being sent. */
  responseOn(socket: Socket): ServerResponse | undefined {
    return this.unfinished.get(socket);
  }

  /** The connections on which a request is executed or its response is being sent. */
  sockets(): Iterable<Socket> {
    return this.unfinished.keys();
  }

  private begin(socket: Socket, response: ServerResponse, execute: Execute): void {
    this.unfinished.set(socket, response);
    response.once('close', () => {
      // Node.js discards the rest of a body only when no part of it was read. The next request is behind it.
      if (!response.req.complete) response.req.resume();
      this.unfinished.delete(socket);
      const next = this.waiting.get(socket);
      this.waiting.delete(socket);
      if (next && !socket.destroyed && socket.writable) next();
    });
    execute();
  }

  /** `response`: the one that is sent before. */
  private end(socket: Socket, response?: ServerResponse): void {
    this.ending.add(socket);
    // Node.js resumes the connection after each request, and would keep all that arrive in memory.
    socket.pause();
    socket.resume = () => socket;
    if (response) response.once('close', () => socket.destroySoon());
    else socket.destroySoon();
  }
}
