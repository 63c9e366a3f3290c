import type * as ClientS3 from '@aws-sdk/client-s3';
import type * as Presigner from '@aws-sdk/s3-request-presigner';
import { asStoreError } from './s3-error.js';

export type S3Sdk = typeof ClientS3 & Pick<typeof Presigner, 'getSignedUrl'>;

/** Loaded when a store is opened and not before: installations that keep objects on disk pay nothing for it. */
export async function loadS3Sdk(): Promise<S3Sdk> {
  const [client, { getSignedUrl }] = await Promise.all([
    import('@aws-sdk/client-s3'),
    import('@aws-sdk/s3-request-presigner'),
  ]);
  return { ...client, getSignedUrl };
}

export interface S3Place {
  readonly bucket: string;
  /** Segments joined by `/`, before every key; empty for none. */
  readonly prefix: string;
  /** Origin of an S3-compatible service. Default: Amazon's own. */
  readonly endpoint?: string;
  /** Default: what the AWS configuration of this machine says; `us-east-1` with an endpoint. */
  readonly region?: string;
  /** `endpoint/bucket/key` instead of `bucket.endpoint/key`. */
  readonly forcePathStyle: boolean;
  /** Default: what the AWS SDK finds (shared files, a role of the machine, the container or the pod). */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly limits?: Partial<S3Limits>;
}

export interface S3Limits {
  readonly connectMs: number;
  /** Longest silence on a connection. */
  readonly silenceMs: number;
  /** Longest time from the begin of a request, its body included, to the head of its answer. */
  readonly answerMs: number;
  /** Tries in all, with the SDK's growing pauses between them. */
  readonly attempts: number;
  /** Streams longer than this are sent in parts of this size; S3 wants at least 5 MiB. */
  readonly partBytes: number;
}

export const S3_LIMITS: S3Limits = {
  connectMs: 3000,
  silenceMs: 15_000,
  answerMs: 60_000,
  attempts: 3,
  partBytes: 8 * 1024 * 1024,
};

/** A client for the place, whose errors are those of {@link asStoreError}. The caller destroys it. */
export function createS3Client(sdk: S3Sdk, place: S3Place): ClientS3.S3Client {
  const { connectMs, silenceMs, answerMs, attempts } = { ...S3_LIMITS, ...place.limits };
  const region = place.region ?? (place.endpoint === undefined ? undefined : 'us-east-1');
  const client = new sdk.S3Client({
    forcePathStyle: place.forcePathStyle,
    maxAttempts: attempts,
    // Otherwise bodies are sent with checksum trailers in chunk framing, which some S3-compatible services store as content.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: connectMs,
      requestTimeout: answerMs,
      throwOnRequestTimeout: true,
      socketTimeout: silenceMs,
    },
    ...(region === undefined ? {} : { region }),
    ...(place.endpoint === undefined ? {} : { endpoint: place.endpoint }),
    ...(place.credentials === undefined ? {} : { credentials: { ...place.credentials } }),
  });
  client.middlewareStack.add(
    (next) => (args) =>
      next(args).catch((error: unknown) => {
        throw asStoreError(error);
      }),
    { step: 'initialize', priority: 'high' },
  );
  return client;
}
