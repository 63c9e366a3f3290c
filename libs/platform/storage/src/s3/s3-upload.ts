import type { CompletedPart, S3Client } from '@aws-sdk/client-s3';
import { talking } from './s3-error.js';
import type { S3Sdk } from './s3-sdk.js';

export interface UploadTarget {
  readonly Bucket: string;
  readonly Key: string;
  readonly ContentType: string;
}

/**
 * One multipart upload. S3 shows the object when it is completed and not before; an aborted one leaves nothing. Parts
 * are sent one after the other, all of one size but the last: some S3-compatible services insist on that.
 */
export class S3Upload {
  private readonly parts: CompletedPart[] = [];

  private constructor(
    private readonly sdk: S3Sdk,
    private readonly client: S3Client,
    private readonly at: { readonly Bucket: string; readonly Key: string; readonly UploadId: string },
  ) {}

  static async begin(sdk: S3Sdk, client: S3Client, target: UploadTarget): Promise<S3Upload> {
    const { UploadId } = await talking(() => client.send(new sdk.CreateMultipartUploadCommand(target)));
    if (UploadId === undefined) throw new Error('S3 began an upload and named no id for it.');
    return new S3Upload(sdk, client, { Bucket: target.Bucket, Key: target.Key, UploadId });
  }

  async add(Body: Buffer): Promise<void> {
    const PartNumber = this.parts.length + 1;
    const { ETag } = await talking(() =>
      this.client.send(new this.sdk.UploadPartCommand({ ...this.at, PartNumber, Body })),
    );
    this.parts.push({ PartNumber, ...(ETag === undefined ? {} : { ETag }) });
  }

  async complete(): Promise<void> {
    await talking(() =>
      this.client.send(
        new this.sdk.CompleteMultipartUploadCommand({ ...this.at, MultipartUpload: { Parts: this.parts } }),
      ),
    );
  }

  /** Forgets the parts. The store's own life-cycle rule has to remove those of a process that was killed. */
  async abort(): Promise<void> {
    await talking(() => this.client.send(new this.sdk.AbortMultipartUploadCommand(this.at)));
  }
}
