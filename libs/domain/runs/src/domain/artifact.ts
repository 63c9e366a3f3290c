import { canonicalUrl } from './canonical-url.js';

export const ARTIFACT_TYPES = ['PLAN', 'PULL_REQUEST', 'SCREENSHOT', 'FILE', 'EXTERNAL_REFERENCE'] as const;
export type ArtifactType = (typeof ARTIFACT_TYPES)[number];

/** Types with content, which is in the object store. */
export const CONTENT_ARTIFACT_TYPES = ['PLAN', 'SCREENSHOT', 'FILE'] as const satisfies readonly ArtifactType[];
export type ContentArtifactType = (typeof CONTENT_ARTIFACT_TYPES)[number];

/** Those that only point at something elsewhere. */
export const REFERENCE_ARTIFACT_TYPES = [
  'PULL_REQUEST',
  'EXTERNAL_REFERENCE',
] as const satisfies readonly ArtifactType[];
export type ReferenceArtifactType = (typeof REFERENCE_ARTIFACT_TYPES)[number];

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

/** What a runner reports of an artifact that it uploads. */
export interface ContentReport {
  readonly artifact_type: ContentArtifactType;
  readonly mime_type: string;
  /** As the agent names it, relative to its working directory. */
  readonly filepath: string;
  readonly title?: string;
  readonly description?: string;
  readonly url?: string;
}

export interface ReferenceReport {
  readonly artifact_type: ReferenceArtifactType;
  readonly url: string;
  readonly branch?: string;
  readonly reference_type?: string;
  readonly title?: string;
  readonly metadata?: object;
}

/** The name that a download is saved under: the last part of the path. */
export function fileNameOf(filepath: string): string {
  return (
    filepath
      .split(/[/\\]/)
      .filter((part) => part !== '')
      .at(-1) ?? 'artifact'
  );
}

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

export type ReferenceData =
  | { readonly kind: 'data'; readonly data: ArtifactData; readonly locator: string | null }
  | { readonly kind: 'refused'; readonly field: string; readonly detail: string };

/** `data` of a reference, with the canonical address that it is found by. */
export function referenceData(report: ReferenceReport): ReferenceData {
  const canonical = canonicalUrl(report.url);
  if (canonical.kind === 'refused') return { kind: 'refused', field: 'url', detail: canonical.detail };
  const { title, metadata, reference_type, branch } = report;
  if (report.artifact_type === 'PULL_REQUEST') {
    if (branch === undefined) return { kind: 'refused', field: 'branch', detail: 'is required' };
    return { kind: 'data', data: { url: report.url, branch }, locator: canonical.url };
  }
  if (reference_type === undefined) return { kind: 'refused', field: 'reference_type', detail: 'is required' };
  if (metadata && Buffer.byteLength(JSON.stringify(metadata)) > MAX_METADATA_BYTES) {
    return { kind: 'refused', field: 'metadata', detail: `must not exceed ${MAX_METADATA_BYTES} bytes as JSON` };
  }
  const data = {
    reference_type,
    url: canonical.url,
    ...(title === undefined ? {} : { title }),
    ...(metadata === undefined ? {} : { metadata }),
  };
  return { kind: 'data', data, locator: canonical.url };
}

/** `data` as a run lists it: of a screenshot its description is enough, the rest is in the artifact itself. */
export function listedData({ type, data }: Pick<Artifact, 'type' | 'data'>): ArtifactData {
  if (type !== 'SCREENSHOT') return data;
  const { artifact_uid: uid, mime_type: mimeType, description } = data;
  return { artifact_uid: uid, mime_type: mimeType, ...(description === undefined ? {} : { description }) };
}
