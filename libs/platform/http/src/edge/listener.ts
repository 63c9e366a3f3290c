import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { readFileSync } from 'node:fs';
import type { Express } from 'express';
import type { Settings } from '#platform/config';
import { type ErrorCode, within } from '#platform/kernel';
import { newContext } from '#platform/observability';
import { problemHeaders, rawProblem, toProblemDocument } from '../problems/problem.dto.js';
import { ProblemError } from '../problems/problem-error.js';
import { disconnectStalled } from './disconnect-stalled.js';
import { responseClass } from './edge-response.js';
import { RequestOrder } from './request-order.js';
import { pathOf } from './request-state.js';
import { requestClass, type Upgrades } from './upgrades.js';

const KEEP_ALIVE_MS = 75_000;
const MAX_HEADERS_MS = 10_000;
/** How often Node checks for requests that do not arrive; its default of 30 s is longer than short limits. */
const CHECK_MS = 1_000;
/** A client that reads nothing of a response for this time is disconnected: what it has not read is in memory. */
const STALLED_MS = 60_000;

export interface ListenerOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Base of the pages of error codes, for responses that are sent without an application. Default: as in the settings. */
  readonly publicUrl?: () => string;
  /** How long a request may take to arrive, in milliseconds. Default: REQUEST_TIMEOUT. */
  readonly requestTimeoutMs?: number;
  /** How long a client may read nothing of a response, in milliseconds. Default: one minute. */
  readonly stalledMs?: number;
  /** The handler answers `Expect: 100-continue`, so that it can reject a request before its body is sent. */
  readonly handlesExpectContinue?: boolean;
  /** Whether it serves HTTPS with TLS_CERT_FILE. Default: if that is set. */
  readonly usesTls?: boolean;
  /** Problem documents without `instance` and `trace_id`. */
  readonly hidesTrace?: boolean;
}

interface MessageClasses {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

/**
 * The socket of an application, opened before everything else: an occupied port is reported at once, the number of a free
 * port is known before the settings are used, and requests during the start are answered with 503.
 */
export class Listener {
  private handler: RequestListener;
  private readonly order = new RequestOrder();

  private constructor(
    readonly server: Server,
    private readonly messages: MessageClasses,
    private readonly upgradable: { upgrades: Upgrades | null },
    private readonly scheme: 'http' | 'https',
    publicUrl: () => string,
    { handlesExpectContinue = false, hidesTrace = false, stalledMs = STALLED_MS }: ListenerOptions,
  ) {
    this.handler = (request, response) => answerStarting(request, response, publicUrl());
    answerRawClientErrors(server, this.order, publicUrl, hidesTrace);
    disconnectStalled(server, this.order, stalledMs);
    const serve = (request: IncomingMessage, response: ServerResponse): void => {
      this.order.admit(request, response, () => this.handler(request, response));
    };
    server.on('request', serve);
    if (handlesExpectContinue) server.on('checkContinue', serve);
  }

  static async open(settings: Settings, options: ListenerOptions): Promise<Listener> {
    const { host, port, publicUrl, requestTimeoutMs = settings.requestTimeout } = options;
    const upgradable: { upgrades: Upgrades | null } = { upgrades: null };
    // Classes of this listener, because each application changes their prototypes.
    const messages: MessageClasses = {
      IncomingMessage: requestClass((request) => upgradable.upgrades?.accepts(request) ?? false),
      ServerResponse: responseClass(),
    };
    const limits = {
      ...messages,
      connectionsCheckingInterval: CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      requestTimeout: requestTimeoutMs,
      headersTimeout: Math.min(MAX_HEADERS_MS, requestTimeoutMs),
    };
    const tls = options.usesTls ?? settings.tlsCertFile !== '';
    const server = tls
      ? createTlsServer({ ...limits, cert: readFileSync(settings.tlsCertFile), key: readFileSync(settings.tlsKeyFile) })
      : createServer(limits);
    const listener = new Listener(
      server,
      messages,
      upgradable,
      tls ? 'https' : 'http',
      publicUrl ?? (() => settings.publicUrl),
      options,
    );
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
    return listener;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Origin with the real port. A wildcard address is shown as loopback. */
  get url(): string {
    const { address, family, port } = this.server.address() as AddressInfo;
    const wildcard = address === '::' || address === '0.0.0.0';
    const host = wildcard ? '127.0.0.1' : family === 'IPv6' ? `[${address}]` : address;
    return `${this.scheme}://${host}:${port}`;
  }

  /** `application`: whose methods the requests and responses of the handler have, as if Express had received them. */
  serve(handler: RequestListener, application?: Express): void {
    if (application !== undefined) {
      Object.setPrototypeOf(this.messages.IncomingMessage.prototype, application.request);
      Object.setPrototypeOf(this.messages.ServerResponse.prototype, application.response);
    }
    this.handler = handler;
  }

  /** Called once. Before, requests for a WebSocket are answered like other requests. */
  serveUpgrades(upgrades: Upgrades): void {
    this.upgradable.upgrades = upgrades;
    this.server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      if (this.order.responseOn(socket)) socket.destroy();
      else upgrades.handle(request, socket, head);
    });
  }

  /** Accepts no new connections, waits up to `graceMs` for open requests, and then closes the connections. */
  async close(graceMs: number): Promise<void> {
    if (!this.server.listening) return;
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    const sweep = setInterval(() => this.server.closeIdleConnections(), 20);
    await within(graceMs, closed, () => undefined);
    clearInterval(sweep);
    this.server.closeAllConnections();
    await closed;
  }
}

function answerStarting(request: IncomingMessage, response: ServerResponse, publicUrl: string): void {
  const problem = new ProblemError('resource_unavailable', 'The service is starting.', { retryAfterSeconds: 1 });
  const { traceId } = newContext();
  const document = toProblemDocument(problem, { publicUrl, instance: pathOf(request), traceId });
  response.writeHead(503, { ...problemHeaders(problem), 'X-Trace-Id': traceId, Connection: 'close' });
  response.end(JSON.stringify(document));
}

const REASONS: Readonly<Record<string, readonly [code: ErrorCode, detail: string]>> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The request headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
};
const INVALID = ['invalid_request', 'The request is not valid HTTP.'] as const;

/** Node rejects some requests before it creates a request object: invalid bytes, large headers, one that never ends. */
function answerRawClientErrors(
  server: Server,
  order: RequestOrder,
  publicUrl: () => string,
  hidesTrace: boolean,
): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // Clients open connections that they may need later. A response that nobody asked for could meet their next request.
    const isUnused = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0;
    const running = order.responseOn(socket);
    // The bytes are behind a complete request, whose response must not be replaced.
    if (running?.req.complete === true && error.code !== 'ECONNRESET' && socket.writable) {
      order.endAfter(running, socket);
      return;
    }
    // The problem document would be a part of the response that is being sent.
    if (error.code === 'ECONNRESET' || !socket.writable || isUnused || running?.headersSent === true) {
      socket.destroy();
      return;
    }
    const [code, detail] = REASONS[error.code ?? ''] ?? INVALID;
    const traceId = randomBytes(16).toString('hex');
    const place = { publicUrl: publicUrl(), instance: '', traceId };
    socket.end(rawProblem(new ProblemError(code, detail), place, hidesTrace));
  });
}
