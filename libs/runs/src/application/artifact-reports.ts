import { Injectable } from '@nestjs/common';
import type { Readable } from 'node:stream';
import { Settings } from '#libs/config';
import { newUid } from '#libs/kernel';
import { MAX_PLAN_BYTES } from '#libs/runner-protocol';
import { ObjectStore } from '#libs/storage';
import {
  contentData,
  type ContentReport,
  MAX_ARTIFACTS_PER_RUN,
  PLAN_CONTENT_TYPE,
  referenceData,
  type ReferenceReport,
} from '../domain/artifact.js';
import { ArtifactsStore, type NewArtifact } from '../persistence/artifacts.store.js';
import { ExecutionsStore } from '../persistence/executions.store.js';

export type ArtifactReportResult =
  | { readonly kind: 'stored'; readonly uid: string }
  | { readonly kind: 'lease_lost' }
  | { readonly kind: 'refused'; readonly field: string; readonly detail: string };

/** Who reports, and under which name of its own: the same key again is the same artifact. */
export interface ArtifactSource {
  readonly executionId: string;
  readonly leaseEpoch: number;
  readonly sourceKey: string;
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
    if (typeof probe !== 'string') return probe;
    const uid = newUid();
    const objectKey = `artifacts/${probe}/${uid}`;
    const isPlan = report.type === 'PLAN';
    const { sizeBytes } = await this.objects.put(objectKey, body, {
      contentType: isPlan ? PLAN_CONTENT_TYPE : report.mimeType,
      maxBytes: isPlan ? Math.min(MAX_PLAN_BYTES, this.settings.maxArtifactBytes) : this.settings.maxArtifactBytes,
    });
    const artifact = { uid, type: report.type, data: contentData(uid, report, sizeBytes), objectKey, locator: null };
    const result = await this.insert(probe, source, artifact);
    // Nobody knows the object but us: when its row was not written it goes. It stays when that is not known; it then
    // goes with the run.
    if (result.kind !== 'stored' || result.uid !== uid) await this.objects.delete(objectKey);
    return result;
  }

  async reference(source: ArtifactSource, report: ReferenceReport): Promise<ArtifactReportResult> {
    const described = referenceData(report);
    if (described.kind === 'refused') return described;
    const probe = await this.probe(source);
    if (typeof probe !== 'string') return probe;
    const { data, locator } = described;
    return this.insert(probe, source, { uid: newUid(), type: report.type, data, objectKey: null, locator });
  }

  /** The run's id when there is something to store. */
  private async probe({ executionId, leaseEpoch, sourceKey }: ArtifactSource): Promise<string | ArtifactReportResult> {
    const found = await this.store.probe(executionId, leaseEpoch, sourceKey);
    if (!found) return { kind: 'lease_lost' };
    return found.known === null ? found.runId : this.renewed(executionId, leaseEpoch, found.known);
  }

  private async insert(
    runId: string,
    { executionId, leaseEpoch, sourceKey }: ArtifactSource,
    artifact: Omit<NewArtifact, 'sourceKey'>,
  ): Promise<ArtifactReportResult> {
    if (await this.store.insert(runId, executionId, leaseEpoch, { ...artifact, sourceKey }))
      return this.renewed(executionId, leaseEpoch, artifact.uid);
    const found = await this.store.probe(executionId, leaseEpoch, sourceKey);
    if (!found) return { kind: 'lease_lost' };
    if (found.known !== null) return this.renewed(executionId, leaseEpoch, found.known);
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
