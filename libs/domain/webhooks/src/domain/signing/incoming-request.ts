/** The headers of a request as received: names in any case, repeated headers kept separate. */
export class RawHeaders {
  private readonly values = new Map<string, string[]>();

  /** `raw`: name, value, name, value … as `IncomingMessage.rawHeaders` has them. */
  constructor(raw: readonly string[]) {
    for (let index = 0; index + 1 < raw.length; index += 2) {
      const name = (raw[index] ?? '').toLowerCase();
      const known = this.values.get(name);
      if (known) known.push(raw[index + 1] ?? '');
      else this.values.set(name, [raw[index + 1] ?? '']);
    }
  }

  all(name: string): readonly string[] {
    return this.values.get(name.toLowerCase()) ?? [];
  }

  /** The value of a header that may occur once. Null when it is missing, or repeated and therefore ambiguous. */
  single(name: string): string | null {
    const values = this.all(name);
    return values.length === 1 ? (values[0] ?? null) : null;
  }

  has(name: string): boolean {
    return this.values.has(name.toLowerCase());
  }
}

export interface IncomingRequest {
  readonly method: string;
  /** Public origin of the ingress, from the settings and not from the Host header, then path and query as sent. */
  readonly url: string;
  readonly headers: RawHeaders;
  /** The exact bytes as received. */
  readonly body: Buffer;
  /**
   * The body as JSON, parsed once; undefined when it is not JSON in valid UTF-8. Only for schemes whose credential, time or
   * identity is in the body: all other checks precede the parsing.
   */
  json(): unknown;
}
