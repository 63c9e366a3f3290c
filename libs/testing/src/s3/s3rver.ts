import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';

export const S3RVER_KEYS = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' } as const;

/** The part of the package `s3rver` that is used here; the package has no types. */
interface S3rverServer {
  readonly store: S3rverStore;
  readonly httpServer: { closeAllConnections(): void };
  run(): Promise<{ port: number }>;
  close(): Promise<void>;
}
interface S3rverStore {
  getResourcePath(bucket: string, key: string | undefined, resource: string): string;
  putMetadata(bucket: string, key: string, metadata: unknown, md5: string): Promise<void>;
  putObject: (object: StoredByS3rver) => Promise<{ size: number; md5: string }>;
  putPart: (
    bucket: string,
    uploadId: string,
    part: number,
    content: Readable,
  ) => Promise<{ size: number; md5: string }>;
}
interface StoredByS3rver {
  readonly bucket: string;
  readonly key: string;
  readonly content: Readable | Buffer;
  readonly metadata: unknown;
}

export interface S3rver {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Somebody else's S3 server (npm `s3rver`), on a free port over its own directory unless a `place` is given: what shows that our
 * requests are S3's. It does not check signatures of version 4, does not know AbortMultipartUpload and does not replace the
 * metadata together with an object; cases about those belong to the verifying server.
 */
export async function startS3rver(
  bucketName: string,
  place?: { readonly directory: string; readonly port: number },
): Promise<S3rver> {
  const directory = place?.directory ?? (await mkdtemp(join(tmpdir(), 'headrace-s3rver-')));
  const S3rverClass = createRequire(import.meta.url)('s3rver') as new (options: object) => S3rverServer;
  const server = new S3rverClass({
    address: '127.0.0.1',
    port: place?.port ?? 0,
    silent: true,
    directory,
    vhostBuckets: false,
    configureBuckets: [{ name: bucketName }],
  });
  waitForFiles(server.store);
  const { port } = await server.run();
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      const closed = server.close();
      server.httpServer.closeAllConnections();
      await closed;
      if (place === undefined) await rm(directory, { recursive: true, force: true });
    },
  };
}

/** As it stands, s3rver answers before its files are written, and a process that is killed leaves a part of an object. */
function waitForFiles(store: S3rverStore): void {
  store.putObject = async ({ bucket, key, content, metadata }) => {
    const path = store.getResourcePath(bucket, key, 'object');
    const bytes = Buffer.isBuffer(content) ? content : await buffer(content);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(`${path}.part`, bytes);
    await rename(`${path}.part`, path);
    const md5 = `size-${bytes.length}`;
    await store.putMetadata(bucket, key, metadata, md5);
    return { size: bytes.length, md5 };
  };
  store.putPart = async (bucket, uploadId, part, content) => {
    const path = join(store.getResourcePath(bucket, undefined, 'uploads'), uploadId, String(part));
    const bytes = await buffer(content);
    await writeFile(path, bytes);
    return { size: bytes.length, md5: `size-${bytes.length}` };
  };
}
