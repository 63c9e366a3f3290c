import { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { newContext, runInContext } from '#platform/observability';
import type { ProblemError } from '../problems/problem-error.js';
import { rawProblem } from '../problems/problem.dto.js';
import { headerText, pathOf } from './request-state.js';

/** A request for a WebSocket with its connection, which the handler owns from now on. */
export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that were received after the request. */
  readonly head: Buffer;
  readonly path: string;
  /** Identifies the request in the logs, as `X-Trace-Id` does for other requests. */
  readonly traceId: string;
  /** Answers with a problem document and closes the connection. */
  reject(problem: ProblemError): void;
}

type UpgradeHandler = (upgrade: Upgrade) => void;

@Injectable()
export class Upgrades {
  private readonly logger = new Logger('Http');
  private readonly handlers = new Map<string, UpgradeHandler>();

  constructor(private readonly settings: Settings) {}

  /** `path`: from the origin, without parameters. */
  on(path: string, handler: UpgradeHandler): void {
    if (this.handlers.has(path)) throw new Error(`${path} already has a handler of upgrades.`);
    this.handlers.set(path, handler);
  }

  /** Whether a handler accepts the request; any other is answered as a request without an upgrade. */
  accepts(request: IncomingMessage): boolean {
    return (
      request.method === 'GET' &&
      request.headers.upgrade?.toLowerCase() === 'websocket' &&
      this.handlers.has(pathOf(request))
    );
  }

  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // No other code listens to the socket any more: an error without a listener would end the process.
    socket.on('error', () => socket.destroy());
    const path = pathOf(request);
    const context = newContext(headerText(request.headers.traceparent));
    context.route = `GET ${path}`;
    const reject = (problem: ProblemError): void => {
      const fields = { method: 'GET', status: problem.status, error_code: problem.code };
      runInContext(context, () => this.logger.log('request', fields));
      const { publicUrl } = this.settings;
      // A client that does not close its side after the response must not keep the connection open.
      socket.once('finish', () => socket.destroy());
      socket.end(rawProblem(problem, { publicUrl, instance: path, traceId: context.traceId }));
    };
    runInContext(context, () =>
      this.handlers.get(path)?.({ request, socket, head, path, traceId: context.traceId, reject }),
    );
  }
}

/**
 * The request class of a server whose upgrades `accepts` decides. With a listener for upgrades Node would pass it every
 * upgrade, including those that must be answered as ordinary requests, such as offers of HTTP/2.
 */
export function requestClass(accepts: (request: IncomingMessage) => boolean): typeof IncomingMessage {
  const asked = new WeakSet<IncomingMessage>();
  class UpgradableRequest extends IncomingMessage {
    get upgrade(): boolean {
      return asked.has(this) && (this.method === 'CONNECT' || accepts(this));
    }

    set upgrade(value: boolean | null) {
      if (value === true) asked.add(this);
      else asked.delete(this);
    }
  }
  return UpgradableRequest;
}
