import type { IncomingMessage } from 'node:http';
import type { IncomingRequest } from '#domain/webhooks';
import { RawHeaders } from '#domain/webhooks';
import type { SecretBringingHandshake } from '#domain/webhooks';
import type { IngressWebhook } from './ingress-webhook.js';
import { parseJson } from './parse-json.js';

/** What `/webhooks/w/<uid>` or `/webhooks/w/<uid>/<token>` is, exactly: nothing behind it but a query. Nothing is decoded. */
const ADDRESS = /^\/webhooks\/w\/([A-Za-z0-9]{22})(?:\/([^/?#]+))?(?:\?|$)/;

const NOT_YET = Symbol('not yet');

export interface Surroundings {
  /** Where the sender reaches us, from the settings. */
  readonly publicOrigin: string;
  readonly sourceIp: string;
  /** A new one each time; asked once. */
  readonly traceId: () => string;
  /** Tells a sender that waits for it (`Expect: 100-continue`) to send the body. */
  readonly invite: () => void;
  /** `release` is called once the answer is out, or the sender has gone. */
  readonly onClose: (release: () => void) => void;
}

/** One request on its way through the checks, and what they have found out. */
export class Exchange {
  /** By `performance.now()`. */
  readonly arrivedAt = performance.now();
  /** Null when the path cannot be a webhook's. */
  readonly uid: string | null;
  readonly pathToken: string | null;
  webhook: IngressWebhook | null = null;
  /** Whether the webhook was read after this request came: only then it may be refused. */
  isFresh = false;
  /** Whether the checks up to authentication have found nothing against it. */
  isAdmitted = false;
  body: Buffer | null = null;
  /** Above the limit, when the body turned out to be too large. */
  tooLargeBytes: number | null = null;
  /** The webhook as which it was judged not to be authentic. */
  unfitFor: IngressWebhook | null = null;
  /** What an unsigned first request brings, for a webhook that waits for it. */
  handshake: SecretBringingHandshake | null = null;
  private parsed: unknown = NOT_YET;
  private known: RawHeaders | null = null;
  private trace: string | null = null;
  private givePlaceBack: (() => void) | null = null;

  constructor(
    readonly incoming: IncomingMessage,
    private readonly surroundings: Surroundings,
  ) {
    const [, uid = null, pathToken = null] = ADDRESS.exec(incoming.url ?? '') ?? [];
    this.uid = uid;
    this.pathToken = pathToken;
  }

  /** Read when they are asked for: most of what is refused is refused without. */
  get headers(): RawHeaders {
    this.known ??= new RawHeaders(this.incoming.rawHeaders);
    return this.known;
  }

  get sourceIp(): string {
    return this.surroundings.sourceIp;
  }

  get traceId(): string {
    this.trace ??= this.surroundings.traceId();
    return this.trace;
  }

  get invite(): () => void {
    return this.surroundings.invite;
  }

  /** `release` gives back the place that the body has in memory: once, when all is over or by {@link dropBody}. */
  keepPlace(release: () => void): void {
    this.givePlaceBack = release;
    this.surroundings.onClose(() => this.releasePlace());
  }

  /** For a request that is refused: nobody needs its body any more. */
  dropBody(): void {
    this.body = null;
    this.parsed = undefined;
    this.releasePlace();
  }

  private releasePlace(): void {
    this.givePlaceBack?.();
    this.givePlaceBack = null;
  }

  /** Undefined when the body is no JSON in UTF-8. Parsed once. */
  json(): unknown {
    if (this.parsed === NOT_YET) this.parsed = this.body ? parseJson(this.body) : undefined;
    return this.parsed;
  }

  toRequest(): IncomingRequest {
    return {
      method: this.incoming.method ?? '',
      url: this.surroundings.publicOrigin + (this.incoming.url ?? ''),
      headers: this.headers,
      body: this.body ?? Buffer.alloc(0),
      json: () => this.json(),
    };
  }
}
