export type JsonObject = Readonly<Record<string, unknown>>;

/** The value when it is an object, else an empty one. */
export const asObject = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};

export const asArray = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

export const asText = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The text of a message's content: a string, or parts that have a `text`. */
export const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : asArray(content)
        .map((part) => asText(asObject(part)['text']))
        .filter((text) => text !== '')
        .join('\n');
