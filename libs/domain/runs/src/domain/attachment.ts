import type { RejectionOf } from '#platform/kernel';

/** Bytes of one attachment, and of all of a request together: in base64 they fit a request's 20 MiB. */
export const MAX_ATTACHMENT_BYTES = 10 * 1_048_576;
export const MAX_ATTACHMENTS_BYTES = 14 * 1_048_576;
const MAX_FILE_NAME_BYTES = 255;

export interface AttachmentInput {
  readonly fileName: string;
  readonly mimeType: string;
  readonly content: Buffer;
}

export interface StoredAttachment {
  readonly id: string;
  readonly file_name: string;
  readonly mime_type: string;
  readonly size_bytes: number;
  readonly object_key: string;
}

/** As rows of a new run are written; `position` counts from 0 in the request's order. */
export interface NewAttachment extends StoredAttachment {
  readonly position: number;
}

export interface RawAttachment {
  readonly file_name: string;
  readonly mime_type: string;
  readonly data: string;
}

type CheckedAttachments =
  | { readonly kind: 'valid'; readonly attachments: readonly AttachmentInput[] }
  | RejectionOf<'invalid' | 'too_large'>;

/** Checks and decodes what a request brought. Sizes are counted before anything is decoded. */
export function checkAttachments(raw: readonly RawAttachment[]): CheckedAttachments {
  const issues = raw.flatMap((one, index) =>
    faultsOf(one).map(([field, detail]) => ({ pointer: `/attachments/${index}/${field}`, detail })),
  );
  if (issues.length > 0) return { kind: 'invalid', issues };
  const sizes = raw.map(({ data }) => Buffer.byteLength(data, 'base64'));
  const tooLarge = sizes.findIndex((size) => size > MAX_ATTACHMENT_BYTES);
  if (tooLarge >= 0) {
    const detail = `must not exceed ${MAX_ATTACHMENT_BYTES} bytes`;
    return { kind: 'too_large', pointer: `/attachments/${tooLarge}/data`, detail };
  }
  if (sizes.reduce((sum, size) => sum + size, 0) > MAX_ATTACHMENTS_BYTES) {
    const detail = `must not exceed ${MAX_ATTACHMENTS_BYTES} bytes together`;
    return { kind: 'too_large', pointer: '/attachments', detail };
  }
  const names = uniqueNames(raw.map(({ file_name }) => file_name));
  const attachments = raw.map(({ file_name, mime_type, data }, index) => ({
    fileName: names[index] ?? file_name,
    mimeType: mime_type,
    content: Buffer.from(data, 'base64'),
  }));
  return { kind: 'valid', attachments };
}

function faultsOf({ file_name, mime_type, data }: RawAttachment): [keyof RawAttachment, string][] {
  const faults: [keyof RawAttachment, string][] = [];
  if (!isFileName(file_name)) faults.push(['file_name', FILE_NAME_RULE]);
  if (!MEDIA_TYPE.test(mime_type)) faults.push(['mime_type', 'must be a media type such as image/png']);
  if (!isBase64(data)) faults.push(['data', 'must be base64 with its padding']);
  return faults;
}

/** Path separators of any system, controls, and what turns the direction of writing around to disguise a name. */
const NOT_IN_NAMES = /[/\\\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;

/** What {@link isFileName} checks. */
export const FILE_NAME_RULE = 'must be the name of a file, at most 255 bytes, without a path or control characters';

/** Whether a file can be called that, inside any directory and without leaving it. */
export function isFileName(name: string): boolean {
  return (
    name.trim() !== '' &&
    name !== '.' &&
    name !== '..' &&
    Buffer.byteLength(name) <= MAX_FILE_NAME_BYTES &&
    !NOT_IN_NAMES.test(name)
  );
}

const NAME = '[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}';
const PARAMETER = `[ \\t]*;[ \\t]*${NAME}=(?:${NAME}|"[^"\\\\\\x00-\\x1f\\x7f]{0,127}")`;
/** `type/subtype` as RFC 6838 names them, with parameters. */
export const MEDIA_TYPE = new RegExp(`^${NAME}/${NAME}(?:${PARAMETER}){0,4}$`);

/** The standard alphabet, padded, without line breaks and with nothing in the bits that the padding leaves over. */
function isBase64(text: string): boolean {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return false;
  const end = text.slice(-4);
  return Buffer.from(end, 'base64').toString('base64') === end;
}

/** Two pictures from a clipboard have the same name: the second becomes `image (2).png`. `used`: names of other files. */
export function uniqueNames(names: readonly string[], used: readonly string[] = []): string[] {
  // File systems may take two ways of writing one letter, or capitals, for the same.
  const keyOf = (name: string): string => name.normalize('NFC').toLowerCase();
  const taken = new Set(used.map(keyOf));
  const claim = (name: string): boolean => {
    const key = keyOf(name);
    return !taken.has(key) && taken.add(key) !== undefined;
  };
  return names.map((name) => {
    for (let count = 1; ; count += 1) {
      const candidate = count === 1 ? name : numbered(name, count);
      if (claim(candidate)) return candidate;
    }
  });
}

function numbered(name: string, count: number): string {
  const dot = name.lastIndexOf('.');
  const stem = dot > 0 ? name.slice(0, dot) : name;
  const suffix = ` (${count})${dot > 0 ? name.slice(dot) : ''}`;
  let kept = [...stem];
  while (kept.length > 0 && Buffer.byteLength(kept.join('')) + Buffer.byteLength(suffix) > MAX_FILE_NAME_BYTES)
    kept = kept.slice(0, -1);
  return `${kept.join('')}${suffix}`.slice(0, MAX_FILE_NAME_BYTES);
}
