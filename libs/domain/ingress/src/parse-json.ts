const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Any JSON value of any depth; undefined for whatever is none, also for bytes that are not valid UTF-8. A byte order
 * mark stays and is no JSON. The result is never written out again.
 */
export function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(body)) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
}
