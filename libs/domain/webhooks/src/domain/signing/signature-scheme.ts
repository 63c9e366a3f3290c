import type { IncomingRequest } from './incoming-request.js';

/** What a sender's handshake is answered with. */
export interface HandshakeAnswer {
  readonly status: 200 | 204;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is; `contentType` says what it is. Empty with 204. */
  readonly body?: string;
  readonly contentType?: 'application/json' | 'text/plain; charset=utf-8';
}

/** A handshake that brings the secret, from a sender that cannot sign yet. */
export interface SecretBringingHandshake {
  readonly secret: string;
  readonly answer: HandshakeAnswer;
}

export interface SignableRequest {
  readonly body: Buffer;
  readonly secret: string;
  readonly now: Date;
  /** Full public URL that it is going to be posted to. */
  readonly url: string;
  /** The sender's own id of this delivery, for schemes that have one in a header. */
  readonly deliveryId: string;
}

/** A request as the sender would send it. */
export interface SignedRequest {
  /** Lower case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Another one than was given where time or signature lie in the body. */
  readonly body: Buffer;
  /** Another one than was given where the sender adds to the query. */
  readonly url: string;
}

/**
 * Plug: how one sender proves that a request is its own. Most schemes are rows of data for one verifier; the rest are
 * classes. Registered in a {@link SignatureSchemes}, which refuses two of one id. A scheme never throws on what a
 * sender sent, and knows no way to say "not checked".
 */
export interface SignatureScheme {
  /** On the wire; permanent once shipped: snake case. */
  readonly id: string;
  readonly label: string;
  readonly documentationUrl: string;
  /** Headers that carry signature or time, lower case: they cannot serve as a webhook's delivery ID header. */
  readonly signatureHeaders: readonly string[];
  /** The sender's own delivery headers, best first, lower case. */
  readonly deliveryIdHeaders: readonly string[];
  /** Where the body carries the sender's delivery id, for senders without such a header: keys from the root. */
  readonly deliveryIdPath: readonly string[] | null;
  /** The first request brings the secret: the webhook waits for it. */
  readonly secretComesByHandshake: boolean;

  /** Why a secret cannot be one of this sender; null when it can. Empty and blank ones never can. */
  checkSecret(secret: string): string | null;
  /** A fresh secret, where senders of this scheme take one from the receiver; else null. */
  generateSecret(): string | null;
  /** Whether the request is signed with the secret and, where the scheme signs a time, within the tolerance of `now`. */
  verify(request: IncomingRequest, secret: string, now: Date): boolean;
  /**
   * All that the signature of a verified request covers, in parts; null for a scheme that signs nothing. The same bytes
   * are accepted once, whatever the unsigned headers beside them say.
   */
  signedContent(request: IncomingRequest): readonly Buffer[] | null;
  /** The answer to a request that is a handshake; null for an ordinary one. Asked only after `verify`. */
  handshake(request: IncomingRequest, secret: string): HandshakeAnswer | null;
  /** The secret that an unsigned first request brings; null for every other request. Asked only while one is awaited. */
  extractSecret(request: IncomingRequest): SecretBringingHandshake | null;
  /**
   * Signs as the sender would. Null where only the sender can (its key is public here), with a secret that is none of
   * this scheme, and where the signature lies in the body and the body is no JSON object.
   */
  sign(request: SignableRequest): SignedRequest | null;
}

/** What a scheme says about itself, whichever engine verifies it. What is left out is not there. */
export interface SchemeMetadata {
  readonly id: string;
  readonly label: string;
  readonly documentationUrl: string;
  readonly deliveryIdHeaders?: readonly string[];
  readonly deliveryIdPath?: readonly string[];
  readonly generateSecret?: () => string;
  readonly handshake?: (request: IncomingRequest, secret: string) => HandshakeAnswer | null;
  readonly extractSecret?: (request: IncomingRequest) => SecretBringingHandshake | null;
}

/** A scheme without its engine: what is the same for all of them. */
export abstract class DescribedScheme implements SignatureScheme {
  readonly id: string;
  readonly label: string;
  readonly documentationUrl: string;
  readonly deliveryIdHeaders: readonly string[];
  readonly deliveryIdPath: readonly string[] | null;
  readonly secretComesByHandshake: boolean;
  abstract readonly signatureHeaders: readonly string[];

  constructor(private readonly facts: SchemeMetadata) {
    this.id = facts.id;
    this.label = facts.label;
    this.documentationUrl = facts.documentationUrl;
    this.deliveryIdHeaders = facts.deliveryIdHeaders ?? [];
    this.deliveryIdPath = facts.deliveryIdPath ?? null;
    this.secretComesByHandshake = facts.extractSecret !== undefined;
  }

  checkSecret(secret: string): string | null {
    return isBlank(secret) ? 'The secret is empty or blank.' : this.checkKey(secret);
  }

  generateSecret(): string | null {
    return this.facts.generateSecret?.() ?? null;
  }

  verify(request: IncomingRequest, secret: string, now: Date): boolean {
    return !isBlank(secret) && this.isSigned(request, secret, now);
  }

  abstract signedContent(request: IncomingRequest): readonly Buffer[] | null;

  handshake(request: IncomingRequest, secret: string): HandshakeAnswer | null {
    return this.facts.handshake?.(request, secret) ?? null;
  }

  extractSecret(request: IncomingRequest): SecretBringingHandshake | null {
    const found = this.facts.extractSecret?.(request) ?? null;
    return found !== null && this.checkSecret(found.secret) === null ? found : null;
  }

  abstract sign(request: SignableRequest): SignedRequest | null;
  /** As `checkSecret`, of one that is not blank. */
  protected abstract checkKey(secret: string): string | null;
  /** As `verify`, with a secret that is not blank. It may still be none of this scheme: then nothing is signed. */
  protected abstract isSigned(request: IncomingRequest, secret: string, now: Date): boolean;

  /** What a request carries besides its signature: the sender's own delivery header, where there is one. */
  protected plainHeaders(deliveryId?: string): Record<string, string> {
    const [idHeader] = this.deliveryIdHeaders;
    const isSent = idHeader !== undefined && deliveryId !== undefined;
    return { 'content-type': 'application/json', ...(isSent ? { [idHeader]: deliveryId } : {}) };
  }
}

/** Nothing but white space, control characters and characters that are not visible, such as U+200B. */
const isBlank = (secret: string): boolean => /^[\s\p{Z}\p{Cc}\p{Cf}]*$/u.test(secret);
