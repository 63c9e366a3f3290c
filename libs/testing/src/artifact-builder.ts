import { newUid } from '#platform/kernel';
import type { ObjectStore } from '#platform/storage';
import type { TestDatabase } from './database/test-database.js';

export interface ArtifactShape {
  readonly type: 'PLAN' | 'PULL_REQUEST' | 'SCREENSHOT' | 'FILE' | 'DIFF' | 'EXTERNAL_REFERENCE';
  /** Of a reference; in its canonical form, as the service stores it. */
  readonly url?: string;
  readonly title?: string;
  /** Of a plan, screenshot, file or diff; put into the object store when there is one. */
  readonly content?: string | Buffer;
  readonly filepath?: string;
  /** Default: now. */
  readonly createdAt?: Date;
}

/**
 * Artifacts of any type, straight into the database, for runs of any state:
 *
 *   const artifacts = new ArtifactBuilder(api.database, { objects: api.app.get(ObjectStore) });
 *   const { uid } = await artifacts.build(runId, { type: 'EXTERNAL_REFERENCE', url: 'https://t.example/1' });
 */
export class ArtifactBuilder {
  constructor(
    private readonly database: TestDatabase,
    private readonly stores: { readonly objects?: ObjectStore } = {},
  ) {}

  async build(runId: string, shape: ArtifactShape): Promise<{ uid: string }> {
    const uid = newUid();
    const { type, url = `https://tracker.example.com/${uid}`, content = 'content\n' } = shape;
    const hasContent = type !== 'PULL_REQUEST' && type !== 'EXTERNAL_REFERENCE';
    const objectKey = hasContent ? `artifacts/${runId}/${uid}` : null;
    if (objectKey !== null) {
      const bytes = Buffer.isBuffer(content) ? content : Buffer.from(content);
      await this.stores.objects?.put(objectKey, bytes, { contentType: mimeTypeOf(type) });
    }
    await this.database.query(
      `INSERT INTO artifacts (uid, run_id, slot_key, source_key, artifact_type, data, object_key, locator, run_created_at, created_at)
       SELECT $1, r.id, r.slot_key, $1, $3, $4::jsonb, $5, $6, r.created_at, coalesce($7::timestamptz, headrace.now())
         FROM runs r WHERE r.id = $2`,
      [
        uid,
        runId,
        type,
        JSON.stringify(dataOf(uid, { ...shape, url, content })),
        objectKey,
        type === 'EXTERNAL_REFERENCE' || type === 'PULL_REQUEST' ? url : null,
        shape.createdAt ?? null,
      ],
    );
    return { uid };
  }
}

const mimeTypeOf = (type: ArtifactShape['type']): string =>
  type === 'SCREENSHOT' ? 'image/png' : type === 'PLAN' ? 'text/markdown' : 'text/plain';

function dataOf(uid: string, { type, url, title, content = '', filepath }: ArtifactShape): object {
  const titled = title === undefined ? {} : { title };
  switch (type) {
    case 'PLAN':
      return { document_uid: uid, artifact_uid: uid, notebook_uid: uid, ...titled };
    case 'PULL_REQUEST':
      return { url, branch: 'a-branch' };
    case 'EXTERNAL_REFERENCE':
      return { reference_type: 'ticket', url, ...titled };
    case 'SCREENSHOT':
    case 'FILE':
    case 'DIFF': {
      const path = filepath ?? { FILE: 'out/report.txt', DIFF: 'repository.diff', SCREENSHOT: 'shot.png' }[type];
      return {
        artifact_uid: uid,
        filepath: path,
        filename: path.split('/').at(-1),
        mime_type: mimeTypeOf(type),
        ...(type === 'SCREENSHOT' ? {} : titled),
        size_bytes: Buffer.byteLength(content),
      };
    }
  }
}
