/** What a scheme may sign, named in its template between braces. */
const NAMES = ['body', 'timestamp', 'id', 'url', 'method'] as const;
export type ContentName = (typeof NAMES)[number];

export type ContentValues = Readonly<Record<Exclude<ContentName, 'body'>, string | null>> & { readonly body: Buffer };

type Part = { readonly name: ContentName; readonly next: string } | { readonly literal: Buffer };

/** The bytes that a scheme signs, as a template says: `v0:{timestamp}:{body}`. */
export class SignedContent {
  private readonly parts: readonly Part[];

  /** @throws Error for a name that does not exist: a scheme with a mistake keeps the service from starting. */
  constructor(private readonly template: string) {
    const pieces = template.split(/\{([a-z]+)\}/);
    this.parts = pieces.flatMap((piece, index): Part[] => {
      if (index % 2 === 0) return piece === '' ? [] : [{ literal: Buffer.from(piece, 'utf8') }];
      const name = NAMES.find((known) => known === piece);
      if (name === undefined)
        throw new Error(`The template ${template} names ${piece}, which is nothing that is signed.`);
      return [{ name, next: pieces[index + 1] ?? '' }];
    });
  }

  has(name: ContentName): boolean {
    return this.template.includes(`{${name}}`);
  }

  /**
   * In parts, so that the body is not copied. Null when a value is missing, or when an id contains what separates it
   * from the next part: `a.1` before `2` and `a` before `1.2` would be the same bytes.
   */
  of(values: ContentValues): readonly Buffer[] | null {
    const bytes: Buffer[] = [];
    for (const part of this.parts) {
      if ('literal' in part) {
        bytes.push(part.literal);
      } else if (part.name === 'body') {
        bytes.push(values.body);
      } else {
        const value = values[part.name];
        if (value === null || (part.name === 'id' && part.next !== '' && value.includes(part.next))) return null;
        bytes.push(Buffer.from(value, 'utf8'));
      }
    }
    return bytes;
  }
}
