import { ExtensionPoint } from '#platform/kernel';
import type { IncomingRequest } from './incoming-request.js';

export interface HandshakeAnswer {
  readonly status: 200 | 204;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent unchanged with `contentType`. Empty with 204. */
  readonly body?: string;
  readonly contentType?: 'application/json' | 'text/plain; charset=utf-8';
}

/** A handshake that contains the secret, from a sender that does not sign yet. */
export interface SecretBringingHandshake {
  readonly secret: string;
  readonly answer: HandshakeAnswer;
}

export interface SignableRequest {
  readonly body: Buffer;
  readonly secret: string;
  readonly now: Date;
  /** Full public URL of the request. */
  readonly url: string;
  /** The delivery id of the sender, for schemes with such a header. */
  readonly deliveryId: string;
}

export interface SignedRequest {
  /** Lower case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Differs from the input when time or signature are in the body. */
  readonly body: Buffer;
  /** Differs from the input when the sender extends the query. */
  readonly url: string;
}

export interface FormCommand {
  readonly name: string;
  /** JSON. */
  readonly response: string;
}

/** The properties of a scheme that do not depend on its verifier. */
export interface SchemeMetadata {
  /** On the wire, snake case; permanent once published. */
  readonly id: string;
  readonly label: string;
  readonly documentationUrl: string;
  /** The delivery id headers of the sender, in order of preference, in lower case. */
  readonly deliveryIdHeaders?: readonly string[];
  /** The header, in lower case, in which the sender names the kind of an event that its body does not name. */
  readonly eventHeader?: string;
  /** The keys from the root of the body to the delivery id, for senders without such a header. */
  readonly deliveryIdPath?: readonly string[];
  /**
   * For senders that also send forms with JSON in this field, such as clicks on buttons. They are answered with 200 and no body:
   * Slack shows an error for other responses.
   */
  readonly formField?: string;
  /**
   * For senders that also send forms of which each field is a value, such as commands: a form with the field `name` is a delivery with all
   * fields as an object. It is answered with 200 and `response`, which the sender shows.
   */
  readonly command?: FormCommand;
  /** For senders that accept a secret from the receiver. */
  readonly generateSecret?: () => string;
  readonly handshake?: (request: IncomingRequest, secret: string) => HandshakeAnswer | null;
  readonly extractSecret?: (request: IncomingRequest) => SecretBringingHandshake | null;
}

/**
 * Extension point: how a sender proves that a request is its own. Most schemes are rows of data for one verifier; the others
 * are classes. Two schemes of one id prevent the start. A scheme never throws, whatever the
 * request contains, and has no result that means "not checked".
 */
@ExtensionPoint(['api', 'ingress'])
export abstract class SignatureScheme {
  readonly id: string;
  readonly label: string;
  readonly documentationUrl: string;
  readonly deliveryIdHeaders: readonly string[];
  readonly eventHeader: string | null;
  readonly deliveryIdPath: readonly string[] | null;
  readonly formField: string | null;
  readonly command: FormCommand | null;
  /** The first request contains the secret: the webhook waits for it. */
  readonly hasSecretInHandshake: boolean;
  /** Headers of signature or time, in lower case: they cannot be the delivery id header of a webhook. */
  abstract readonly signatureHeaders: readonly string[];

  constructor(private readonly metadata: SchemeMetadata) {
    this.id = metadata.id;
    this.label = metadata.label;
    this.documentationUrl = metadata.documentationUrl;
    this.deliveryIdHeaders = metadata.deliveryIdHeaders ?? [];
    this.eventHeader = metadata.eventHeader ?? null;
    this.deliveryIdPath = metadata.deliveryIdPath ?? null;
    this.formField = metadata.formField ?? null;
    this.command = metadata.command ?? null;
    this.hasSecretInHandshake = metadata.extractSecret !== undefined;
  }

  /** Why the secret is not valid for this scheme; null when it is. Empty and blank secrets never are. */
  checkSecret(secret: string): string | null {
    return isBlank(secret) ? 'The secret is empty or blank.' : this.checkKey(secret);
  }

  /** A new secret when senders of this scheme accept one from the receiver; else null. */
  generateSecret(): string | null {
    return this.metadata.generateSecret?.() ?? null;
  }

  /** Whether the request is signed with the secret and, where the scheme signs a time, within the tolerance of `now`. */
  verify(request: IncomingRequest, secret: string, now: Date): boolean {
    return !isBlank(secret) && this.isSigned(request, secret, now);
  }

  /**
   * Everything that the signature of a verified request covers, in parts; null for a scheme that signs nothing. The same
   * bytes are accepted once, independent of unsigned headers.
   */
  abstract signedContent(request: IncomingRequest): readonly Buffer[] | null;

  /** The response to a handshake; null for a delivery. Called only after `verify`. */
  handshake(request: IncomingRequest, secret: string): HandshakeAnswer | null {
    return this.metadata.handshake?.(request, secret) ?? null;
  }

  /** The secret in an unsigned first request; null for every other request. Called only while a secret is awaited. */
  extractSecret(request: IncomingRequest): SecretBringingHandshake | null {
    const found = this.metadata.extractSecret?.(request) ?? null;
    return found !== null && this.checkSecret(found.secret) === null ? found : null;
  }

  /**
   * Signs as the sender would. Null when only the sender can (the receiver has its public key), with an invalid secret, and
   * when the signature is in the body and the body is not a JSON object.
   */
  abstract sign(request: SignableRequest): SignedRequest | null;
  /** Like `checkSecret`, for a secret that is not blank. */
  protected abstract checkKey(secret: string): string | null;
  /** Like `verify`, with a secret that is not blank. It may still be invalid for this scheme: then the result is false. */
  protected abstract isSigned(request: IncomingRequest, secret: string, now: Date): boolean;

  /** The headers beside the signature, including the delivery id header of the sender if it has one. */
  protected plainHeaders(deliveryId?: string): Record<string, string> {
    const [idHeader] = this.deliveryIdHeaders;
    const isSent = idHeader !== undefined && deliveryId !== undefined;
    return { 'content-type': 'application/json', ...(isSent ? { [idHeader]: deliveryId } : {}) };
  }
}

/** Consists of white space, control characters and invisible characters such as U+200B only. */
const isBlank = (secret: string): boolean => /^[\s\p{Z}\p{Cc}\p{Cf}]*$/u.test(secret);
