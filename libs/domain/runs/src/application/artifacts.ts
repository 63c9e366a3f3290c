import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { Settings } from '#platform/config';
import { Clock } from '#platform/kernel';
import { ObjectStore } from '#platform/storage';
import { fileNameOf, PLAN_CONTENT_TYPE } from '../domain/artifact.js';
import { slotKeys } from '#execution/executions';
import { ArtifactsStore, type StoredArtifact } from '../persistence/artifacts.store.js';
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
