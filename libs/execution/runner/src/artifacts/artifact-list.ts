import { extname } from 'node:path';
import {
  type ArtifactContentQuery,
  type ArtifactReference,
  PULL_REQUEST_STATUSES,
  type PullRequestStatus,
} from '#execution/runner-protocol';
import { isDeeperThan, parseJson } from '#platform/kernel';

/** The file in the artifacts directory that names artifacts, one JSON object a line. */
export const ARTIFACT_LIST = 'artifacts.jsonl';

export interface ListedFile extends Pick<ArtifactContentQuery, 'title' | 'description' | 'url'> {
  /** The runner itself makes diffs. */
  readonly artifact_type: Exclude<ArtifactContentQuery['artifact_type'], 'DIFF'>;
  /** Absolute, or relative to the working directory. */
  readonly path: string;
  readonly mime_type?: string;
}

export type ListedReference = Omit<ArtifactReference, 'lease_epoch' | 'source_key'>;

export interface ArtifactProblem {
  readonly artifact: string;
  readonly problem: string;
}

export interface ArtifactList {
  readonly files: readonly ListedFile[];
  readonly references: readonly ListedReference[];
  readonly problems: readonly ArtifactProblem[];
}

const MAX_LINES = 2000;
/** Nesting levels of one line; the control plane accepts no more in any body. */
const MAX_LINE_DEPTH = 64;
const TEXT_FIELDS = ['mime_type', 'title', 'description', 'url', 'branch', 'status', 'reference_type'] as const;

/** Reads the list; agents write it by hand, so an invalid line affects only that line. */
export function parseArtifactList(text: string): ArtifactList {
  const files: ListedFile[] = [];
  const references: ListedReference[] = [];
  const problems: ArtifactProblem[] = [];
  const lines = text.split('\n');
  for (const [index, line] of lines.slice(0, MAX_LINES).entries()) {
    if (line.trim() === '') continue;
    const entry = readLine(line);
    if (typeof entry === 'string') problems.push({ artifact: `${ARTIFACT_LIST}, line ${index + 1}`, problem: entry });
    else if ('path' in entry) files.push(entry);
    else references.push(entry);
  }
  if (lines.length > MAX_LINES + 1)
    problems.push({ artifact: ARTIFACT_LIST, problem: `has more than ${MAX_LINES} lines` });
  return { files, references, problems };
}

export const isPullRequestStatus = (text: string): text is PullRequestStatus =>
  PULL_REQUEST_STATUSES.some((known) => known === text);
const WRONG_STATUS = `has a \`status\` that is none of ${PULL_REQUEST_STATUSES.join(', ')}`;

/** A string is the problem of the line. */
function readLine(line: string): ListedFile | ListedReference | string {
  const value = parseJson(line);
  if (value === undefined) return 'is not JSON';
  return readEntry(value);
}

/** A string says why it is no artifact. */
export function readEntry(value: unknown): ListedFile | ListedReference | string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'is not a JSON object';
  // JSON.parse accepts any depth, but the code that walks the value afterwards is recursive.
  if (isDeeperThan(value, MAX_LINE_DEPTH)) return `nests deeper than ${MAX_LINE_DEPTH} levels`;
  const entry = value as Record<string, unknown>;
  const texts: Partial<Record<(typeof TEXT_FIELDS)[number], string>> = {};
  for (const name of TEXT_FIELDS) {
    const text = entry[name];
    if (text === undefined || text === null || text === '') continue;
    if (typeof text !== 'string') return `has a \`${name}\` that is not text`;
    texts[name] = text;
  }
  const { branch, status, reference_type, ...described } = texts;
  switch (entry['artifact_type']) {
    case 'PLAN':
    case 'SCREENSHOT':
    case 'FILE':
      if (typeof entry['path'] !== 'string' || entry['path'] === '') return 'has no `path`';
      return { artifact_type: entry['artifact_type'], path: entry['path'], ...described };
    case 'PULL_REQUEST':
      if (texts.url === undefined || branch === undefined) return 'needs `url` and `branch`';
      if (status !== undefined && !isPullRequestStatus(status)) return WRONG_STATUS;
      return { artifact_type: 'PULL_REQUEST', url: texts.url, branch, ...(status !== undefined && { status }) };
    case 'EXTERNAL_REFERENCE': {
      if (texts.url === undefined || reference_type === undefined) return 'needs `url` and `reference_type`';
      const { url, title } = texts;
      const { metadata } = entry;
      return {
        artifact_type: 'EXTERNAL_REFERENCE',
        url,
        reference_type,
        title,
        metadata: typeof metadata === 'object' && metadata !== null ? (metadata as Record<string, unknown>) : undefined,
      };
    }
    default:
      return 'has no `artifact_type` out of PLAN, PULL_REQUEST, SCREENSHOT, FILE, EXTERNAL_REFERENCE';
  }
}

const IMAGES: Readonly<Record<string, string>> = Object.fromEntries(
  ['avif', 'bmp', 'gif', 'jpeg', 'jpg', 'png', 'webp'].map((type) => [`.${type}`, `image/${type}`]),
);

const MIME_TYPES: Readonly<Record<string, string>> = {
  ...IMAGES,
  '.jpg': 'image/jpeg',
  '.csv': 'text/csv',
  '.diff': 'text/x-diff',
  '.gz': 'application/gzip',
  '.html': 'text/html',
  '.json': 'application/json',
  '.log': 'text/plain',
  '.md': 'text/markdown',
  '.mp4': 'video/mp4',
  '.patch': 'text/x-diff',
  '.pdf': 'application/pdf',
  '.svg': 'image/svg+xml',
  '.tar': 'application/x-tar',
  '.txt': 'text/plain',
  '.webm': 'video/webm',
  '.xml': 'application/xml',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  '.zip': 'application/zip',
};

export function mimeTypeOf(path: string): string {
  return MIME_TYPES[extname(path).toLowerCase()] ?? 'application/octet-stream';
}

/** Type of a file that is not in the list: images are screenshots, `PLAN.md` and `*.plan.md` plans. */
export function typeOfDropped(path: string): ListedFile['artifact_type'] {
  if (/(^|\/)PLAN\.md$|[^/]\.plan\.md$/i.test(path)) return 'PLAN';
  return extname(path).toLowerCase() in IMAGES ? 'SCREENSHOT' : 'FILE';
}

export function headingOf(markdown: string): string | undefined {
  const heading = /^#{1,6}[ \t]+(\S.*)$/m.exec(markdown)?.[1];
  if (heading === undefined) return undefined;
  // The first character is never a part of the marks at the end.
  let end = heading.length;
  while (end > 1 && ' \t#'.includes(heading.charAt(end - 1))) end -= 1;
  return heading.slice(0, Math.min(end, 512));
}
