import type { IncomingRequest } from './incoming-request.js';
import type {
  HandshakeAnswer,
  SecretBringingHandshake,
  SignableRequest,
  SignatureScheme,
  SignedRequest,
} from './signature-scheme.js';

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
