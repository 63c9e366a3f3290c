import { Logger } from '@nestjs/common';
import { Readable } from 'node:stream';
import type { CompletedPart, S3Client } from '@aws-sdk/client-s3';
import { attachmentDisposition, chunksOf, mediaType } from '../content.js';
import {
  objectKeySegments,
  ObjectStore,
  ObjectTooLargeError,
  type PutOptions,
  type SignedUrlOptions,
  type StoredObject,
} from '../object-store.js';
import { statusOf } from './s3-error.js';
import { createS3Client, loadS3Sdk, S3_LIMITS, type S3Place, type S3Sdk } from './s3-sdk.js';

/** Signature version 4 allows no more. */
const MAX_URL_SECONDS = 7 * 24 * 3600;
/** What one listing and one deletion can name. */
const PAGE = 1000;

/** Downloads use presigned URLs. Nothing is sent under a key before it is complete, or it is a multipart upload. */
export class S3ObjectStore extends ObjectStore {
  private readonly logger = new Logger(S3ObjectStore.name);
  private readonly partBytes: number;

  private constructor(
    private readonly sdk: S3Sdk,
    private readonly client: S3Client,
    private readonly place: S3Place,
  ) {
    super();
    this.partBytes = place.limits?.partBytes ?? S3_LIMITS.partBytes;
  }

  /** Loads the SDK; does not talk to S3 yet. Close it when it is no longer needed. */
  static async open(place: S3Place): Promise<S3ObjectStore> {
    const sdk = await loadS3Sdk();
    return new S3ObjectStore(sdk, createS3Client(sdk, place), place);
  }

  /** Rejects, as S3 or the SDK puts it, when the bucket cannot be used. */
  async check(): Promise<void> {
    await this.client.send(new this.sdk.HeadBucketCommand({ Bucket: this.place.bucket }));
  }

  override async put(
    key: string,
    content: Readable | Buffer,
    { contentType, maxBytes }: PutOptions,
  ): Promise<{ sizeBytes: number }> {
    const target = { ...this.address(key), ContentType: mediaType(contentType) };
    const pending = new PendingBytes();
    let sizeBytes = 0;
    let upload: S3Upload | null = null;
    try {
      for await (const chunk of chunksOf(content)) {
        sizeBytes += chunk.length;
        if (maxBytes !== undefined && sizeBytes > maxBytes) throw new ObjectTooLargeError(key, maxBytes);
        pending.add(chunk);
        while (!Buffer.isBuffer(content) && pending.length > this.partBytes) {
          upload ??= await S3Upload.begin(this.sdk, this.client, target);
          await upload.add(pending.take(this.partBytes));
        }
      }
      if (upload === null) {
        const Body = pending.take(pending.length);
        await this.client.send(new this.sdk.PutObjectCommand({ ...target, Body, ContentLength: Body.length }));
      } else {
        await upload.add(pending.take(pending.length));
        await upload.complete();
      }
      return { sizeBytes };
    } catch (error) {
      await upload?.abort().catch((failure: unknown) => {
        this.logger.warn(`Parts of a broken-off upload stay in the bucket: ${String(failure)}`);
      });
      throw error;
    }
  }

  override async get(key: string): Promise<StoredObject | null> {
    try {
      const { Body, ContentLength, ContentType } = await this.client.send(
        new this.sdk.GetObjectCommand(this.address(key)),
      );
      if (!(Body instanceof Readable)) throw new Error('S3 answered without content.');
      return {
        stream: Body,
        sizeBytes: ContentLength ?? 0,
        contentType: ContentType ?? 'application/octet-stream',
      };
    } catch (error) {
      if (error instanceof Error && (error.name === 'NoSuchKey' || error.name === 'NotFound')) return null;
      throw error;
    }
  }

  override async delete(key: string): Promise<void> {
    const address = this.address(key);
    // Most services say 204 for what is not there; a few say 404.
    await this.client.send(new this.sdk.DeleteObjectCommand(address)).catch((error: unknown) => {
      if (statusOf(error) !== 404 || (error as Error).name === 'NoSuchBucket') throw error;
    });
  }

  override async deletePrefix(prefix: string): Promise<void> {
    const { Bucket, Key } = this.address(prefix);
    for await (const keys of this.pagesOf(Bucket, `${Key}/`)) await this.deleteAll(Bucket, keys);
  }

  override async *list(): AsyncGenerator<string> {
    const { bucket, prefix } = this.place;
    const start = prefix === '' ? '' : `${prefix}/`;
    for await (const keys of this.pagesOf(bucket, start)) for (const key of keys) yield key.slice(start.length);
  }

  override async signedUrl(key: string, { ttlMs, fileName, contentType }: SignedUrlOptions): Promise<string> {
    const command = new this.sdk.GetObjectCommand({
      ...this.address(key),
      ResponseContentDisposition: attachmentDisposition(fileName ?? key),
      ResponseCacheControl: 'private',
      ...(contentType === undefined ? {} : { ResponseContentType: mediaType(contentType) }),
    });
    const expiresIn = Math.min(MAX_URL_SECONDS, Math.max(1, Math.ceil(ttlMs / 1000)));
    return this.sdk.getSignedUrl(this.client, command, { expiresIn });
  }

  override close(): void {
    this.client.destroy();
  }

  private async *pagesOf(Bucket: string, Prefix: string): AsyncGenerator<readonly string[]> {
    let more: string | undefined;
    do {
      const page = await this.client.send(
        new this.sdk.ListObjectsV2Command({ Bucket, Prefix, MaxKeys: PAGE, ContinuationToken: more }),
      );
      yield (page.Contents ?? []).flatMap((object) => object.Key ?? []);
      more = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (more !== undefined);
  }

  private async deleteAll(Bucket: string, keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    const Delete = { Objects: keys.map((Key) => ({ Key })), Quiet: true };
    const { Errors } = await this.client.send(new this.sdk.DeleteObjectsCommand({ Bucket, Delete }));
    const [first] = Errors ?? [];
    if (first) throw new Error(`S3 did not delete ${first.Key ?? 'an object'}: ${first.Code ?? 'no reason given'}.`);
  }

  private address(key: string): { Bucket: string; Key: string } {
    const path = objectKeySegments(key).join('/');
    const { bucket, prefix } = this.place;
    return { Bucket: bucket, Key: prefix === '' ? path : `${prefix}/${path}` };
  }
}

class PendingBytes {
  private chunks: Buffer[] = [];
  length = 0;

  add(chunk: Buffer): void {
    this.chunks.push(chunk);
    this.length += chunk.length;
  }

  take(count: number): Buffer {
    const all = Buffer.concat(this.chunks, this.length);
    this.chunks = [all.subarray(count)];
    this.length = all.length - Math.min(count, all.length);
    return all.subarray(0, count);
  }
}

interface UploadTarget {
  readonly Bucket: string;
  readonly Key: string;
  readonly ContentType: string;
}

/** An aborted upload leaves nothing. Parts are sent in order, all of one size but the last: some services insist on that. */
class S3Upload {
  private readonly parts: CompletedPart[] = [];

  private constructor(
    private readonly sdk: S3Sdk,
    private readonly client: S3Client,
    private readonly at: { readonly Bucket: string; readonly Key: string; readonly UploadId: string },
  ) {}

  static async begin(sdk: S3Sdk, client: S3Client, target: UploadTarget): Promise<S3Upload> {
    const { UploadId } = await client.send(new sdk.CreateMultipartUploadCommand(target));
    if (UploadId === undefined) throw new Error('S3 began an upload and named no id for it.');
    return new S3Upload(sdk, client, { Bucket: target.Bucket, Key: target.Key, UploadId });
  }

  async add(Body: Buffer): Promise<void> {
    const PartNumber = this.parts.length + 1;
    const { ETag } = await this.client.send(new this.sdk.UploadPartCommand({ ...this.at, PartNumber, Body }));
    this.parts.push({ PartNumber, ...(ETag === undefined ? {} : { ETag }) });
  }

  async complete(): Promise<void> {
    await this.client.send(
      new this.sdk.CompleteMultipartUploadCommand({ ...this.at, MultipartUpload: { Parts: this.parts } }),
    );
  }

  /** Forgets the parts. The store's own life-cycle rule has to remove those of a process that was killed. */
  async abort(): Promise<void> {
    await this.client.send(new this.sdk.AbortMultipartUploadCommand(this.at));
  }
}
