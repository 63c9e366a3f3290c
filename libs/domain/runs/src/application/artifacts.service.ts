import { Injectable } from '@nestjs/common';
import type { Readable } from 'node:stream';
import { ExecutionsStore, slotKeys } from '#execution/executions';
import { MAX_PLAN_BYTES } from '#execution/runner-protocol';
import type { Caller } from '#platform/auth';
import { Settings } from '#platform/config';
import { Clock, newUid } from '#platform/kernel';
import { ObjectStore, ObjectTooLargeError } from '#platform/storage';
import {
  contentData,
  type ContentReport,
  fileNameOf,
  MAX_ARTIFACTS_PER_RUN,
  PLAN_CONTENT_TYPE,
  referenceData,
  type ReferenceReport,
} from '../domain/artifact.js';
import { ArtifactsStore, type NewArtifact, type StoredArtifact } from '../persistence/artifacts.store.js';
import { mayOnOwner, readableBy } from './runs.service.js';

export type ArtifactLookup =
  | { readonly kind: 'found'; readonly artifact: StoredArtifact }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'not_yours' };

export interface ArtifactLink {
  readonly url: string;
  readonly expiresAt: Date;
  readonly contentType: string;
}

/** What runs have produced, for those who may read the run. */
@Injectable()
export class Artifacts {
  constructor(
    private readonly store: ArtifactsStore,
    private readonly objects: ObjectStore,
    private readonly clock: Clock,
    private readonly settings: Settings,
  ) {}

  /** One round trip. */
  async find(caller: Caller, uid: string): Promise<ArtifactLookup> {
    const artifact = await this.store.find(uid);
    if (!artifact) return { kind: 'unknown' };
    return mayOnOwner(caller, artifact.owner, 'runs:read') ? { kind: 'found', artifact } : { kind: 'not_yours' };
  }

  /** Where the content can be had for a limited time; null for types that have none. */
  async link({ uid, type, data, objectKey }: StoredArtifact): Promise<ArtifactLink | null> {
    if (objectKey === null) return null;
    const ttlMs = this.settings.signedUrlTtl;
    const expiresAt = new Date(this.clock.now().getTime() + ttlMs);
    const contentType = type === 'PLAN' ? PLAN_CONTENT_TYPE : String(data['mime_type']);
    const fileName = type === 'PLAN' ? `${uid}.md` : fileNameOf(String(data['filepath']));
    const url = await this.objects.signedUrl(objectKey, { ttlMs, fileName, contentType });
    return { url, expiresAt, contentType };
  }

  /** A plan's Markdown; null when it is not kept any more. */
  async planText({ objectKey }: StoredArtifact): Promise<string | null> {
    const object = objectKey === null ? null : await this.objects.get(objectKey);
    if (!object) return null;
    const chunks: Buffer[] = [];
    for await (const chunk of object.stream as AsyncIterable<Buffer>) chunks.push(chunk);
    return Buffer.concat(chunks).toString('utf8');
  }

  /**
   * The newest run that refers to a canonical address, among those that the caller may see, or null. Always one
   * statement over the caller's own owners: nothing tells a run of somebody else from none at all.
   */
  async runByReference(caller: Caller, locator: string): Promise<string | null> {
    return this.store.runByLocator(locator, slotKeys(readableBy(caller)));
  }
}

export type ArtifactReportResult =
  | { readonly kind: 'stored'; readonly uid: string }
  | { readonly kind: 'lease_lost' }
  | { readonly kind: 'refused'; readonly field: string; readonly detail: string }
  /** All artifacts of the run together have more than this. */
  | { readonly kind: 'run_full'; readonly maxBytes: number };

/** Who reports, and under which key: the same key again is the same artifact. */
export interface ArtifactSource {
  readonly executionId: string;
  readonly leaseEpoch: number;
  readonly sourceKey: string;
}

interface NewReport {
  readonly kind: 'new';
  readonly runId: string;
  readonly usedBytes: number;
}

/** Takes what a runner says that its agent has produced. Every report renews the lease, and needs it. */
@Injectable()
export class ArtifactReports {
  constructor(
    private readonly store: ArtifactsStore,
    private readonly executions: ExecutionsStore,
    private readonly objects: ObjectStore,
    private readonly settings: Settings,
  ) {}

  /** Rejects with ObjectTooLargeError; the rest of `body` is then unread. */
  async content(source: ArtifactSource, report: ContentReport, body: Readable): Promise<ArtifactReportResult> {
    if (report.type === 'SCREENSHOT' && !/^image\//i.test(report.mimeType))
      return { kind: 'refused', field: 'mime_type', detail: 'must be an image type for a SCREENSHOT' };
    const probe = await this.probe(source);
    if (probe.kind !== 'new') return probe;
    const { runId } = probe;
    const left = this.settings.maxRunArtifactBytes - probe.usedBytes;
    if (left <= 0) return this.full();
    const uid = newUid();
    const objectKey = `artifacts/${runId}/${uid}`;
    const isPlan = report.type === 'PLAN';
    const own = isPlan ? Math.min(MAX_PLAN_BYTES, this.settings.maxArtifactBytes) : this.settings.maxArtifactBytes;
    const contentType = isPlan ? PLAN_CONTENT_TYPE : report.mimeType;
    const put = await this.put(objectKey, body, contentType, { own, left });
    if (put === null) return this.full();
    const { sizeBytes } = put;
    const data = contentData(uid, report, sizeBytes);
    const result = await this.insert(runId, source, {
      uid,
      type: report.type,
      data,
      objectKey,
      locator: null,
      sizeBytes,
    });
    // Nobody knows the object but us: when its row was not written it goes. It stays when that is not known; it then
    // goes with the run.
    if (result.kind !== 'stored' || result.uid !== uid) await this.objects.delete(objectKey);
    return result;
  }

  async reference(source: ArtifactSource, report: ReferenceReport): Promise<ArtifactReportResult> {
    const described = referenceData(report);
    if (described.kind === 'refused') return described;
    const probe = await this.probe(source);
    if (probe.kind !== 'new') return probe;
    const { data, locator } = described;
    const artifact = { uid: newUid(), type: report.type, data, objectKey: null, locator, sizeBytes: 0 };
    return this.insert(probe.runId, source, artifact);
  }

  /** Null: more than is `left` of the run's. Rejects with ObjectTooLargeError for more than one artifact may have. */
  private async put(
    objectKey: string,
    body: Readable,
    contentType: string,
    { own, left }: { readonly own: number; readonly left: number },
  ): Promise<{ readonly sizeBytes: number } | null> {
    try {
      return await this.objects.put(objectKey, body, { contentType, maxBytes: Math.min(own, left) });
    } catch (error) {
      if (error instanceof ObjectTooLargeError && left < own) return null;
      throw error;
    }
  }

  private full(): ArtifactReportResult {
    return { kind: 'run_full', maxBytes: this.settings.maxRunArtifactBytes };
  }

  /** `new`: there is something to store. */
  private async probe({
    executionId,
    leaseEpoch,
    sourceKey,
  }: ArtifactSource): Promise<ArtifactReportResult | NewReport> {
    const found = await this.store.probe(executionId, leaseEpoch, sourceKey);
    if (!found) return { kind: 'lease_lost' };
    return found.known === null ? { kind: 'new', ...found } : this.renewed(executionId, leaseEpoch, found.known);
  }

  private async insert(
    runId: string,
    { executionId, leaseEpoch, sourceKey }: ArtifactSource,
    artifact: Omit<NewArtifact, 'sourceKey'>,
  ): Promise<ArtifactReportResult> {
    const { maxRunArtifactBytes } = this.settings;
    if (await this.store.insert(runId, executionId, leaseEpoch, { ...artifact, sourceKey }, maxRunArtifactBytes))
      return this.renewed(executionId, leaseEpoch, artifact.uid);
    const found = await this.store.probe(executionId, leaseEpoch, sourceKey);
    if (!found) return { kind: 'lease_lost' };
    if (found.known !== null) return this.renewed(executionId, leaseEpoch, found.known);
    if (found.usedBytes + artifact.sizeBytes > maxRunArtifactBytes) return this.full();
    return {
      kind: 'refused',
      field: 'artifact_type',
      detail: `is one too many: the run has ${MAX_ARTIFACTS_PER_RUN} artifacts`,
    };
  }

  /** What is stored stays stored, also when the lease went with it. */
  private async renewed(executionId: string, leaseEpoch: number, uid: string): Promise<ArtifactReportResult> {
    await this.executions.renew(executionId, leaseEpoch);
    return { kind: 'stored', uid };
  }
}
