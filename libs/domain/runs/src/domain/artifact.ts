import { parseUrl } from '#platform/kernel';
import type { PullRequestStatus } from '#execution/runner-protocol';

export const ARTIFACT_TYPES = ['PLAN', 'PULL_REQUEST', 'SCREENSHOT', 'FILE', 'DIFF', 'EXTERNAL_REFERENCE'] as const;
export type ArtifactType = (typeof ARTIFACT_TYPES)[number];

export const CONTENT_ARTIFACT_TYPES = ['PLAN', 'SCREENSHOT', 'FILE', 'DIFF'] as const satisfies readonly ArtifactType[];
export type ContentArtifactType = (typeof CONTENT_ARTIFACT_TYPES)[number];

export const REFERENCE_ARTIFACT_TYPES = [
  'PULL_REQUEST',
  'EXTERNAL_REFERENCE',
] as const satisfies readonly ArtifactType[];
export type ReferenceArtifactType = (typeof REFERENCE_ARTIFACT_TYPES)[number];

/** Of these the response has links to the run and to its pull requests. */
export const hasSourceLinks = (type: ArtifactType): boolean =>
  type === 'SCREENSHOT' || type === 'FILE' || type === 'DIFF';
export const MAX_SOURCE_PULL_REQUESTS = 20;

export const MAX_ARTIFACTS_PER_RUN = 1000;
/** A run shows so many in a list, the newest; get-run shows all. */
export const MAX_LISTED_ARTIFACTS = 20;
/** Bytes of UTF-8 that a reference's metadata may have as JSON. */
export const MAX_METADATA_BYTES = 2048;
export const PLAN_CONTENT_TYPE = 'text/markdown';

/** What the wire's `data` holds; which fields there are depends on the type. */
export type ArtifactData = Readonly<Record<string, unknown>>;

export interface Artifact {
  readonly type: ArtifactType;
  readonly createdAt: Date;
  readonly data: ArtifactData;
}

export interface ContentReport {
  readonly artifact_type: ContentArtifactType;
  readonly mime_type: string;
  /** Path as the agent reports it, relative to its working directory. Of a DIFF the directory of the repository, with `.diff`. */
  readonly filepath: string;
  readonly title?: string;
  readonly description?: string;
  readonly url?: string;
}

export interface ReferenceReport {
  readonly artifact_type: ReferenceArtifactType;
  readonly url: string;
  readonly branch?: string;
  readonly status?: PullRequestStatus;
  /** The runner says so of a PULL_REQUEST; it may be in any repository. */
  readonly created_by_run?: boolean;
  readonly reference_type?: string;
  readonly title?: string;
  readonly metadata?: object;
}

export const fileNameOf = (filepath: string): string =>
  filepath.split(/[/\\]/).findLast((part) => part !== '') ?? 'artifact';

/** `data` of an artifact with content, as it is stored. A plan is a document of ours, so its ids are the artifact's. */
export function contentData(uid: string, report: ContentReport, sizeBytes: number): ArtifactData {
  const { artifact_type: type, filepath, title, description, url } = report;
  if (type === 'PLAN') {
    return {
      document_uid: uid,
      artifact_uid: uid,
      notebook_uid: uid,
      ...(title === undefined ? {} : { title }),
      ...(url === undefined ? {} : { url }),
    };
  }
  return {
    artifact_uid: uid,
    filepath,
    filename: fileNameOf(filepath),
    mime_type: report.mime_type.toLowerCase(),
    ...(title === undefined || type === 'SCREENSHOT' ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    size_bytes: sizeBytes,
  };
}

export function referenceData(report: ReferenceReport) {
  const canonical = canonicalUrl(report.url);
  if (canonical.kind === 'refused') return refusedField('url', canonical.detail);
  const { title, metadata, reference_type, branch, status } = report;
  if (report.artifact_type === 'PULL_REQUEST') {
    if (branch === undefined) return refusedField('branch', 'is required');
    const data = { url: report.url, branch, ...(status === undefined ? {} : { status }) };
    return { kind: 'data' as const, data, locator: canonical.url };
  }
  if (report.created_by_run !== undefined)
    return refusedField('created_by_run', 'is for artifacts of type PULL_REQUEST only');
  if (status !== undefined) return refusedField('status', 'is for artifacts of type PULL_REQUEST only');
  if (reference_type === undefined) return refusedField('reference_type', 'is required');
  if (metadata && Buffer.byteLength(JSON.stringify(metadata)) > MAX_METADATA_BYTES)
    return refusedField('metadata', `must not exceed ${MAX_METADATA_BYTES} bytes as JSON`);
  const data = {
    reference_type,
    url: canonical.url,
    ...(title === undefined ? {} : { title }),
    ...(metadata === undefined ? {} : { metadata }),
  };
  return { kind: 'data' as const, data, locator: canonical.url };
}

const refusedField = (field: string, detail: string) => ({ kind: 'refused' as const, field, detail });

/** `data` as the artifact itself shows it. Pull requests that older versions have stored have no status. */
export const shownData = ({ type, data }: Pick<Artifact, 'type' | 'data'>): ArtifactData =>
  type === 'PULL_REQUEST' ? { ...data, status: data['status'] ?? 'unknown' } : data;

/** `data` as a run lists it: of a screenshot its description is enough, the rest is in the artifact itself. */
export function listedData({ type, data }: Pick<Artifact, 'type' | 'data'>): ArtifactData {
  if (type === 'PULL_REQUEST') return shownData({ type, data });
  if (type !== 'SCREENSHOT') return data;
  const { artifact_uid: uid, mime_type: mimeType, description } = data;
  return { artifact_uid: uid, mime_type: mimeType, ...(description === undefined ? {} : { description }) };
}

/** Characters of an address, as given and in its canonical form. */
export const MAX_LOCATOR_LENGTH = 2048;

const refused = (detail: string) => ({ kind: 'refused' as const, detail });

/**
 * The one spelling of an address under which an external reference is stored and looked up; its own canonical form is
 * itself.
 *
 * Unified: case of scheme and host, IDNA, IPv4 notations, the scheme's default port, dot segments, all slashes at the
 * path's end (`https://h/` is `https://h`), an empty query, and what a URL cannot hold unescaped. Dropped: the fragment.
 * Kept: order, repetition and spelling of the query, slashes inside the path, escapes as they are written (`%2f` stays
 * apart from `%2F` and from `/`), a dot behind the host. Refused: other schemes than http and https, and credentials,
 * which would be found again in a response.
 */
export function canonicalUrl(text: string) {
  if (text.length > MAX_LOCATOR_LENGTH) return refused(`must not exceed ${MAX_LOCATOR_LENGTH} characters`);
  const url = parseUrl(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return refused('must be an absolute http or https URL');
  if (url.username !== '' || url.password !== '') return refused('must not hold a user name or password');
  const canonical = `${url.protocol}//${url.host}${withoutEndSlashes(url.pathname)}${url.search}`;
  // Escaping makes an address longer; none that long is stored.
  return canonical.length > MAX_LOCATOR_LENGTH
    ? refused(`must not exceed ${MAX_LOCATOR_LENGTH} characters when it is escaped`)
    : { kind: 'url' as const, url: canonical };
}

/** No regular expression: `/+$` looks at a long row of slashes once per slash. */
function withoutEndSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}
