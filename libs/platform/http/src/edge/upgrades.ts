import { IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { newContext, runInContext } from '#platform/observability';
import type { ProblemError } from '../problems/problem-error.js';
import { rawProblem } from '../problems/raw-problem.js';

const MAX_INSTANCE = 2048;

/** A request for a WebSocket, and the connection that it came on, which whoever takes it now owns. */
export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** What came behind the request already. */
  readonly head: Buffer;
  readonly path: string;
  /** Finds it in the logs, as `X-Trace-Id` does for other requests. */
  readonly traceId: string;
  /** Answers with a problem document and ends the connection. */
  refuse(problem: ProblemError): void;
}

type UpgradeHandler = (upgrade: Upgrade) => void;

/** Who takes WebSockets at which paths. */
@Injectable()
export class Upgrades {
  private readonly logger = new Logger('Http');
  private readonly handlers = new Map<string, UpgradeHandler>();

  constructor(private readonly settings: Settings) {}

  /** `path`: from the origin on, without parameters. */
  on(path: string, handler: UpgradeHandler): void {
    if (this.handlers.has(path)) throw new Error(`${path} has a handler of upgrades already.`);
    this.handlers.set(path, handler);
  }

  /** Whether the request is one that a handler takes; any other is answered as if it asked for no upgrade. */
  takes(request: IncomingMessage): boolean {
    return (
      request.method === 'GET' &&
      request.headers.upgrade?.toLowerCase() === 'websocket' &&
      this.handlers.has(pathOf(request))
    );
  }

  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // From here on nobody else listens to the socket: an error without a listener would end the process.
    socket.on('error', () => socket.destroy());
    const path = pathOf(request);
    const { traceparent } = request.headers;
    const context = newContext(Array.isArray(traceparent) ? traceparent[0] : traceparent);
    context.route = `GET ${path}`;
    const refuse = (problem: ProblemError): void => {
      this.logger.log('request', { method: 'GET', status: problem.status, error_code: problem.code });
      const { publicUrl } = this.settings;
      // Whoever does not close its end after the answer has it closed.
      socket.once('finish', () => socket.destroy());
      socket.end(rawProblem(problem, { publicUrl, instance: path.slice(0, MAX_INSTANCE), traceId: context.traceId }));
    };
    runInContext(context, () =>
      this.handlers.get(path)?.({ request, socket, head, path, traceId: context.traceId, refuse }),
    );
  }
}

/**
 * The class of a server's requests whose upgrades `takes` decides on. Node asks a request whether it is an upgrade; with
 * a listener for upgrades it would otherwise give it those too that are to be answered like any other, such as those of
 * clients that offer HTTP/2.
 */
export function requestClass(takes: (request: IncomingMessage) => boolean): typeof IncomingMessage {
  const asked = new WeakSet<IncomingMessage>();
  class UpgradableRequest extends IncomingMessage {
    get upgrade(): boolean {
      return asked.has(this) && (this.method === 'CONNECT' || takes(this));
    }

    set upgrade(value: boolean | null) {
      if (value === true) asked.add(this);
      else asked.delete(this);
    }
  }
  return UpgradableRequest;
}

/** Gives the server's upgrades to their handlers. */
export function serveUpgrades(server: Server, upgrades: Upgrades): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
    upgrades.handle(request, socket, head),
  );
}

function pathOf({ url = '' }: IncomingMessage): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}
