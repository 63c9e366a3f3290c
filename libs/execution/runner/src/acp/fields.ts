export type Fields = Readonly<Record<string, unknown>>;

/** The value as an object with unknown fields; empty when it is not an object. Messages of agents are untrusted. */
export function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

export function items(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Without the keys whose value is undefined: in events an absent key means "unchanged". */
export function defined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as T;
}
