/** The headers of a request as they came: names in any case, repeated ones kept apart. */
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

  static of(record: Readonly<Record<string, string>>): RawHeaders {
    return new RawHeaders(Object.entries(record).flat());
  }

  /** All values under a name, in their order. */
  all(name: string): readonly string[] {
    return this.values.get(name.toLowerCase()) ?? [];
  }

  /** The value of a header that may come once. Null when it is missing or comes more often: such a request is ambiguous. */
  single(name: string): string | null {
    const values = this.all(name);
    return values.length === 1 ? (values[0] ?? null) : null;
  }

  has(name: string): boolean {
    return this.values.has(name.toLowerCase());
  }
}

/** What authentication and identity are decided on. */
export interface IncomingRequest {
  readonly method: string;
  /** Public origin of the ingress, from the settings and not from the Host header, then path and query as sent. */
  readonly url: string;
  readonly headers: RawHeaders;
  /** The exact bytes. */
  readonly body: Buffer;
  /**
   * The body as JSON, parsed once; undefined when it is no JSON in valid UTF-8. For schemes whose credential, time or
   * identity lies in the body: everything else is judged before anything is parsed.
   */
  json(): unknown;
}
