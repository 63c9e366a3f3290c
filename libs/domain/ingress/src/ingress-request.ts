import type { IncomingMessage, ServerResponse } from 'node:http';
import { onceClosed } from '#platform/http';
import {
  newContext,
  recordRequest,
  type RequestContext,
  type SpanAttributes,
  traceparentOf,
} from '#platform/observability';
import { type IncomingRequest, RawHeaders, type SecretBringingHandshake } from '#domain/webhooks';
import type { IngressWebhook } from './ingress-webhooks.js';

/** Exactly `/webhooks/w/<uid>` or `/webhooks/w/<uid>/<token>`, with an optional query. Nothing is decoded. */
const ADDRESS = /^\/webhooks\/w\/([A-Za-z0-9]{22})(?:\/([^/?#]+))?(?:\?|$)/;

/** In telemetry, as the API writes its routes. */
const ROUTE = '/webhooks/w/:uid';

const FORM_TYPE = /^application\/x-www-form-urlencoded(?:;|$)/i;

const NOT_PARSED = Symbol('not parsed');

/** One request in the pipeline, and what the steps so far have found out about it. */
export class IngressRequest {
  /** By `performance.now()`. */
  readonly arrivedAt = performance.now();
  /** Empty when the path cannot be the path of a webhook. */
  readonly uid: string;
  readonly pathToken: string | null;
  webhook: IngressWebhook | null = null;
  /** Whether the webhook was read from the database after this request arrived: only then it may be rejected. */
  isFresh = false;
  body: Buffer | null = null;
  /** Set when the body exceeds the limit: the number of bytes as far as it is known. */
  tooLargeBytes: number | null = null;
  /** The version of the webhook for which authentication has failed. */
  failedFor: IngressWebhook | null = null;
  /** The secret that an unsigned first request contains, for a webhook that waits for it. */
  handshake: SecretBringingHandshake | null = null;
  private parsed: unknown = NOT_PARSED;
  private rawHeaders: RawHeaders | null = null;
  private requestContext: RequestContext | null = null;
  private releaseSlot: (() => void) | null = null;

  /** `publicOrigin`: where senders reach the ingress, from the settings and not from the Host header. */
  constructor(
    readonly incoming: IncomingMessage,
    private readonly response: ServerResponse,
    private readonly publicOrigin: string,
    readonly sourceIp: string,
  ) {
    const [, uid = '', pathToken = null] = ADDRESS.exec(incoming.url ?? '') ?? [];
    this.uid = uid;
    this.pathToken = pathToken;
  }

  /** Parsed on demand: most rejections do not need them. */
  get headers(): RawHeaders {
    this.rawHeaders ??= new RawHeaders(this.incoming.rawHeaders);
    return this.rawHeaders;
  }

  private get context(): RequestContext {
    this.requestContext ??= newContext(this.incoming.headers.traceparent as string | undefined);
    return this.requestContext;
  }

  /** For an authentic request: others must not decide what is exported. */
  beginTrace(): void {
    this.requestContext ??= newContext(this.incoming.headers.traceparent as string | undefined, true);
  }

  get traceId(): string {
    return this.context.traceId;
  }

  /** Of the span of the request; null: it is not traced. */
  get traceparent(): string | null {
    return traceparentOf(this.context);
  }

  /** Exports the span of an answered request, if it is traced. */
  endTrace(attributes: SpanAttributes): void {
    if (this.context.trace === undefined) return;
    const { statusCode } = this.response;
    recordRequest(this.context, performance.now() - this.arrivedAt, {
      name: `POST ${ROUTE}`,
      kind: 'server',
      attributes: {
        'http.request.method': 'POST',
        'http.route': ROUTE,
        'http.response.status_code': statusCode,
        'http.request.body.size': this.body?.length,
        // The path may contain the token of the webhook.
        'url.path': ROUTE,
        'url.scheme': 'encrypted' in this.incoming.socket ? 'https' : 'http',
        'headrace.webhook.uid': this.uid,
        ...attributes,
      },
      errorType: statusCode >= 500 ? String(statusCode) : undefined,
    });
  }

  /** Asks a sender that waits for it (`Expect: 100-continue`) to send the body. */
  readonly sendContinue = (): void => {
    if (/^100-continue$/i.test(this.incoming.headers.expect ?? '')) this.response.writeContinue();
  };

  /** `release` frees the memory slot of the body, exactly once: after the answer, on disconnect or by {@link dropBody}. */
  holdSlot(release: () => void): void {
    this.releaseSlot = release;
    onceClosed(this.response, () => this.release());
  }

  /** For a rejected request, whose body nothing needs any longer. */
  dropBody(): void {
    this.body = null;
    this.parsed = undefined;
    this.release();
  }

  /** Undefined when the body is not JSON in UTF-8. Parsed once. */
  json(): unknown {
    if (this.parsed === NOT_PARSED) this.parsed = this.body ? parseJson(this.body) : undefined;
    return this.parsed;
  }

  /** The JSON in a field of a form, exactly as it was sent; null when the body is no such form. */
  jsonInForm(field: string): Buffer | null {
    const values = this.form()?.getAll(field) ?? [];
    const json = values.length === 1 ? Buffer.from(values[0] ?? '') : null;
    return json !== null && parseJson(json) !== undefined ? json : null;
  }

  /** The fields of a form as a JSON object; null when the body is no form with a value for `field`, or has a field twice. */
  formWith(field: string): Buffer | null {
    const form = this.form();
    if (!form?.get(field)) return null;
    const entries = [...form];
    const fields = new Map(entries);
    return fields.size === entries.length ? Buffer.from(JSON.stringify(Object.fromEntries(fields))) : null;
  }

  private form(): URLSearchParams | null {
    if (this.body === null || !FORM_TYPE.test(this.incoming.headers['content-type'] ?? '')) return null;
    return new URLSearchParams(this.body.toString('utf8'));
  }

  toRequest(): IncomingRequest {
    return {
      method: this.incoming.method ?? '',
      url: this.publicOrigin + (this.incoming.url ?? ''),
      headers: this.headers,
      body: this.body ?? Buffer.alloc(0),
      json: () => this.json(),
    };
  }

  private release(): void {
    this.releaseSlot?.();
    this.releaseSlot = null;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Any JSON value of any depth; undefined for anything else, also for bytes that are not valid UTF-8. A byte order mark is
 * kept, and is not JSON.
 */
export function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(body)) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
}
