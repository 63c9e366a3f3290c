/** A reference to an image, taken apart. */
export interface ImageReference {
  /** As it was written. */
  readonly text: string;
  /** Without tag and digest. */
  readonly name: string;
  /** Tag or digest; `latest` when none is written. */
  readonly tag: string;
  /** Host, with its port, of the registry; `docker.io` when none is written. */
  readonly registry: string;
}

const HOST =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9a-fA-F:]+\])(?::\d{1,5})?$/;
const SEGMENT = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
const DIGEST = /^[a-z0-9]+(?:[+._-][a-z0-9]+)*:[0-9a-f]{32,128}$/;
const MAX_LENGTH = 512;

/** Null when it is none. Whoever passes has nothing in it that means something in a URL. */
export function parseImageReference(text: string): ImageReference | null {
  if (text.length > MAX_LENGTH) return null;
  const [front = '', digest, ...more] = text.split('@');
  const colon = front.lastIndexOf(':');
  const hasTag = colon > front.lastIndexOf('/');
  const name = hasTag ? front.slice(0, colon) : front;
  const tag = hasTag ? front.slice(colon + 1) : undefined;
  const [first = '', ...rest] = name.split('/');
  const hasHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  const segments = hasHost ? rest : [first, ...rest];
  const isGood =
    more.length === 0 &&
    (!hasHost || HOST.test(first)) &&
    segments.every((segment) => SEGMENT.test(segment)) &&
    (tag === undefined || TAG.test(tag)) &&
    (digest === undefined || DIGEST.test(digest));
  return isGood ? { text, name, tag: digest ?? tag ?? 'latest', registry: hasHost ? first : 'docker.io' } : null;
}
