import { Injectable } from '@nestjs/common';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { ExecutionsStore, slotKey, slotKeys } from '#execution/executions';
import { MAX_PLAN_BYTES, type PullRequestStatus } from '#execution/runner-protocol';
import { type Caller, isAllowed } from '#platform/auth';
import { Settings } from '#platform/config';
import { Clock, newUid, type RejectionOf } from '#platform/kernel';
import { ObjectStore, ObjectTooLargeError } from '#platform/storage';
import {
  canonicalUrl,
  contentData,
  type ContentReport,
  fileNameOf,
  hasSourceLinks,
  MAX_ARTIFACTS_PER_RUN,
  PLAN_CONTENT_TYPE,
  referenceData,
  type ReferenceReport,
} from '../domain/artifact.js';
import {
  ArtifactsStore,
  type NewArtifact,
  type ProbedArtifact,
  type StoredArtifact,
} from '../persistence/artifacts.store.js';
import { RunRepositories } from './run-repositories.js';
import { readableBy } from './runs.service.js';

/** Who reports, and under which key: the same key again is the same artifact. */
export interface ArtifactSource {
  readonly executionId: string;
  readonly leaseEpoch: number;
  readonly sourceKey: string;
}

export type ArtifactReportResult =
  | { readonly kind: 'stored'; readonly uid: string }
  | { readonly kind: 'lease_lost' }
  /** Another request has stored or removed the same diff meanwhile. */
  | { readonly kind: 'changed' }
  | RejectionOf<'invalid'>
  | { readonly kind: 'run_full'; readonly maxBytes: number };

type NewReport = { readonly kind: 'new' } & ProbedArtifact;

/** Every report renews the lease, and needs it. */
@Injectable()
export class ArtifactsService {
  constructor(
    private readonly store: ArtifactsStore,
    private readonly executions: ExecutionsStore,
    private readonly repositories: RunRepositories,
    private readonly objects: ObjectStore,
    private readonly clock: Clock,
    private readonly settings: Settings,
  ) {}

  async find(caller: Caller, uid: string) {
    const artifact = await this.store.find(uid);
    if (!artifact) return { kind: 'not_found' as const };
    const isPermitted = isAllowed(caller, artifact.owner);
    return isPermitted ? { kind: 'found' as const, artifact } : { kind: 'forbidden' as const };
  }

  /** Where the content can be had for a limited time; null for types that have none. */
  async link({ uid, type, data, objectKey }: StoredArtifact) {
    if (objectKey === null) return null;
    const ttlMs = this.settings.signedUrlTtl;
    const expiresAt = new Date(this.clock.now().getTime() + ttlMs);
    const contentType = type === 'PLAN' ? PLAN_CONTENT_TYPE : String(data['mime_type']);
    const fileName = type === 'PLAN' ? `${uid}.md` : fileNameOf(String(data['filepath']));
    const url = await this.objects.signedUrl(objectKey, { ttlMs, fileName, contentType });
    return { url, expiresAt, contentType };
  }

  /** Null for types that have none. */
  async sourceLinks({ type, runId }: StoredArtifact) {
    const found = hasSourceLinks(type) ? await this.store.sourceLinks(runId) : null;
    if (found === null) return null;
    return { runUrl: `${this.settings.publicUrl}/runs/${found.rootRunId}`, pullRequestUrls: found.pullRequestUrls };
  }

  /** A plan's Markdown; null when it is not kept any more. */
  async planText({ objectKey }: StoredArtifact): Promise<string | null> {
    const object = objectKey === null ? null : await this.objects.get(objectKey);
    return object && (await buffer(object.stream)).toString();
  }

  /** Null also for runs of others: the one statement over the caller's own owners reveals nothing of them. */
  async runByReference(caller: Caller, locator: string): Promise<string | null> {
    return this.store.runByLocator(locator, slotKeys(readableBy(caller)));
  }

  /** The run of the team that the events of the pull request are for; null: none has created it. One round trip. */
  async runOfPullRequest(teamUid: string, url: string): Promise<string | null> {
    const canonical = canonicalUrl(url);
    if (canonical.kind === 'refused') return null;
    return this.store.runOfPullRequest(canonical.url, slotKey({ teamUid, userUid: null }));
  }

  /** The server has reported the state of a pull request; older reports are ignored. One round trip. */
  async updatePullRequests(
    teamUid: string,
    { url, status, updatedAt }: { readonly url: string; readonly status: PullRequestStatus; readonly updatedAt: Date },
  ): Promise<void> {
    const canonical = canonicalUrl(url);
    if (canonical.kind === 'refused') return;
    await this.store.updatePullRequests(canonical.url, slotKey({ teamUid, userUid: null }), status, updatedAt);
  }

  /** A runner has uploaded the content of an artifact. Rejects with ObjectTooLargeError; the rest of `body` is then unread. */
  async storeContent(source: ArtifactSource, report: ContentReport, body: Readable): Promise<ArtifactReportResult> {
    const { artifact_type: type } = report;
    if (type === 'SCREENSHOT' && !/^image\//i.test(report.mime_type))
      return invalid('mime_type', 'must be an image type for a SCREENSHOT');
    const probe = await this.probe(source, type === 'DIFF' ? report.filepath : null);
    if (probe.kind !== 'new') return probe;
    const { maxRunArtifactBytes, maxArtifactBytes } = this.settings;
    const left = Math.max(0, maxRunArtifactBytes - probe.usedBytes + probe.diffBytes);
    if (left === 0 && type !== 'DIFF') return this.full();
    const objectId = newUid();
    const uid = probe.diffUid ?? objectId;
    const objectKey = `artifacts/${probe.runId}/${objectId}`;
    const isPlan = type === 'PLAN';
    const own = isPlan ? Math.min(MAX_PLAN_BYTES, maxArtifactBytes) : maxArtifactBytes;
    const contentType = isPlan ? PLAN_CONTENT_TYPE : report.mime_type.toLowerCase();
    let sizeBytes: number;
    try {
      ({ sizeBytes } = await this.objects.put(objectKey, body, { contentType, maxBytes: Math.min(own, left) }));
    } catch (error) {
      if (error instanceof ObjectTooLargeError && left < own) return this.full();
      throw error;
    }
    const data = contentData(uid, report, sizeBytes);
    const artifact = { uid, type, data, objectKey, locator: null, createdByRun: false, sizeBytes };
    const isEmptyDiff = type === 'DIFF' && sizeBytes === 0;
    const result = isEmptyDiff ? await this.removeDiff(source, uid, probe) : await this.insert(probe, source, artifact);
    const isStored = result.kind === 'stored' && result.uid === uid;
    // Nobody knows the object but us: when its row was not written it goes. It stays when that is not known; it then
    // goes with the run.
    if (!isStored || isEmptyDiff) await this.objects.delete(objectKey);
    if (isStored && probe.diffKey !== null) await this.objects.delete(probe.diffKey);
    return result;
  }

  async storeReference(source: ArtifactSource, report: ReferenceReport): Promise<ArtifactReportResult> {
    const described = referenceData(report);
    if (described.kind === 'refused') return invalid(described.field, described.detail);
    const probe = await this.probe(source);
    if (probe.kind !== 'new') return probe;
    const { data, locator } = described;
    const createdByRun =
      report.created_by_run === true && (await this.repositories.havePullRequest(probe.runId, locator));
    const { artifact_type: type } = report;
    const artifact = { uid: newUid(), type, data, objectKey: null, locator, createdByRun, sizeBytes: 0 };
    return this.insert(probe, source, artifact);
  }

  private full(): ArtifactReportResult {
    return { kind: 'run_full', maxBytes: this.settings.maxRunArtifactBytes };
  }

  private async probe(
    source: ArtifactSource,
    diffPath: string | null = null,
  ): Promise<ArtifactReportResult | NewReport> {
    const { executionId, leaseEpoch, sourceKey } = source;
    const found = await this.store.probe(executionId, leaseEpoch, sourceKey, diffPath);
    if (!found) return { kind: 'lease_lost' };
    return found.known === null ? { kind: 'new', ...found } : this.renewed(source, found.known);
  }

  /** The repository is as it was at the start of the run. */
  private async removeDiff(
    source: ArtifactSource,
    uid: string,
    { diffUid, diffKey }: NewReport,
  ): Promise<ArtifactReportResult> {
    if (diffUid === null) return this.renewed(source, uid);
    const isRemoved = await this.store.remove(source.executionId, source.leaseEpoch, diffUid, diffKey);
    if (isRemoved) return this.renewed(source, uid);
    const probe = await this.probe(source);
    return probe.kind === 'new' ? { kind: 'changed' } : probe;
  }

  private async insert(
    { runId, diffUid, diffKey }: NewReport,
    source: ArtifactSource,
    reported: Omit<NewArtifact, 'sourceKey'>,
  ): Promise<ArtifactReportResult> {
    const { executionId, leaseEpoch, sourceKey } = source;
    const { maxRunArtifactBytes } = this.settings;
    const artifact = { ...reported, sourceKey };
    const uid =
      diffUid === null
        ? await this.store.insert(runId, executionId, leaseEpoch, artifact, maxRunArtifactBytes)
        : await this.store.replace(runId, executionId, leaseEpoch, artifact, maxRunArtifactBytes, diffKey);
    if (uid !== null) return this.renewed(source, uid);
    const probe = await this.probe(source, artifact.type === 'DIFF' ? String(artifact.data['filepath']) : null);
    if (probe.kind !== 'new') return probe;
    if (probe.diffKey !== diffKey) return { kind: 'changed' };
    if (probe.usedBytes - probe.diffBytes + artifact.sizeBytes > maxRunArtifactBytes) return this.full();
    return invalid('artifact_type', `is one too many: the run has ${MAX_ARTIFACTS_PER_RUN} artifacts`);
  }

  /** What is stored stays stored, also when the lease went with it. */
  private async renewed({ executionId, leaseEpoch }: ArtifactSource, uid: string): Promise<ArtifactReportResult> {
    await this.executions.renew(executionId, leaseEpoch);
    return { kind: 'stored', uid };
  }
}

const invalid = (field: string, detail: string): ArtifactReportResult => ({
  kind: 'invalid',
  issues: [{ pointer: `/${field}`, detail }],
});
