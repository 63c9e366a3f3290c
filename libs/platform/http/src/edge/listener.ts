import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Settings } from '#platform/config';
import { newContext } from '#platform/observability';
import { toProblemDocument } from '../problems/problem.dto.js';
import { ProblemError } from '../problems/problem-error.js';
import { answerRawClientErrors } from './raw-client-error.js';
import { requestClass, serveUpgrades, type Upgrades } from './upgrades.js';

const KEEP_ALIVE_MS = 75_000;
const MAX_HEADERS_MS = 10_000;
/** How often Node looks for requests that do not arrive; its default of 30 s would make short limits meaningless. */
const CHECK_MS = 1_000;

export interface ListenerOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Where the pages of error codes are, in answers that no application has a part in. Default: as in the settings. */
  readonly publicUrl?: () => string;
  /** How long a request may take to arrive, in milliseconds. Default: REQUEST_TIMEOUT. */
  readonly requestTimeoutMs?: number;
  /** Leaves it to the handler to answer `Expect: 100-continue`: it may refuse before a byte of the body is sent. */
  readonly holdsContinue?: boolean;
  /** Whether it speaks HTTPS with TLS_CERT_FILE. Default: where that is set. */
  readonly usesTls?: boolean;
  /** Problem documents without `instance` and `trace_id`. */
  readonly hidesTrace?: boolean;
}

/**
 * The socket of an application, opened before anything else: an occupied port is reported at once, a port of 0 has its
 * number before the settings are handed out, and whoever asks while the application starts is told so.
 */
export class Listener {
  private handler: RequestListener;

  private constructor(
    readonly server: Server,
    private readonly upgradable: { upgrades: Upgrades | null },
    private readonly scheme: 'http' | 'https',
    publicUrl: () => string,
    { holdsContinue = false, hidesTrace = false }: ListenerOptions,
  ) {
    this.handler = (request, response) => answerStarting(request, response, publicUrl());
    answerRawClientErrors(server, publicUrl, hidesTrace);
    const serve = (request: IncomingMessage, response: ServerResponse): void => this.handler(request, response);
    server.on('request', serve);
    if (holdsContinue) server.on('checkContinue', serve);
  }

  static async open(settings: Settings, options: ListenerOptions): Promise<Listener> {
    const { host, port, publicUrl, requestTimeoutMs = settings.requestTimeout } = options;
    const upgradable: { upgrades: Upgrades | null } = { upgrades: null };
    const limits = {
      IncomingMessage: requestClass((request) => upgradable.upgrades?.takes(request) ?? false),
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

  serve(handler: RequestListener): void {
    this.handler = handler;
  }

  /** Once. Until then, and without it, requests for a WebSocket are answered like any other. */
  serveUpgrades(upgrades: Upgrades): void {
    this.upgradable.upgrades = upgrades;
    serveUpgrades(this.server, upgrades);
  }

  /** Takes no new connections, lets what is under way finish for `graceMs`, then breaks what is left. */
  async close(graceMs: number): Promise<void> {
    if (!this.server.listening) return;
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    const sweep = setInterval(() => this.server.closeIdleConnections(), 20);
    const patience = new AbortController();
    await Promise.race([closed, delay(graceMs, undefined, { signal: patience.signal }).catch(() => undefined)]);
    patience.abort();
    clearInterval(sweep);
    this.server.closeAllConnections();
    await closed;
  }
}

function answerStarting(request: IncomingMessage, response: ServerResponse, publicUrl: string): void {
  const problem = new ProblemError('resource_unavailable', 'The service is starting.');
  const { traceId } = newContext();
  const document = toProblemDocument(problem, {
    publicUrl,
    instance: (request.url ?? '').replace(/\?.*/, ''),
    traceId,
  });
  response.writeHead(503, {
    'Content-Type': 'application/problem+json',
    'Retry-After': '1',
    'X-Trace-Id': traceId,
    Connection: 'close',
  });
  response.end(JSON.stringify(document));
}
