import type { SignatureScheme } from './signature-scheme.js';

/** The schemes that an installation knows. */
export class SignatureSchemes {
  private readonly byId = new Map<string, SignatureScheme>();

  constructor(schemes: Iterable<SignatureScheme>) {
    for (const scheme of schemes) {
      if (this.byId.has(scheme.id)) throw new Error(`There are two signature schemes with the id ${scheme.id}.`);
      this.byId.set(scheme.id, scheme);
    }
  }

  /** Null for an unknown id: whoever asks refuses. */
  find(id: string): SignatureScheme | null {
    return this.byId.get(id) ?? null;
  }

  /** By id. */
  all(): readonly SignatureScheme[] {
    return [...this.byId.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
  }
}
