import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { S3Bucket, type S3Reply } from './s3-bucket.js';
import { checkSignature } from './signature-check.js';

export const VERIFYING_S3_KEYS = { accessKeyId: 'TESTKEY', secretAccessKey: 'a-secret-of-the-test' } as const;

/** An S3 server in this process that refuses what is not signed, wrongly signed or late. One bucket, in memory. */
export interface VerifyingS3 {
  readonly url: string;
  readonly bucket: S3Bucket;
  /** Moves the server's clock, which presigned URLs and request dates are held against. */
  advance(milliseconds: number): void;
  /** Answers the coming requests with these statuses before it behaves again. */
  failWith(...statuses: readonly number[]): void;
  /** Called with each request, which waits for it. */
  beforeAnswer: (() => Promise<void>) | null;
  close(): Promise<void>;
}

export async function startVerifyingS3(bucketName: string): Promise<VerifyingS3> {
  const bucket = new S3Bucket(bucketName);
  const faults: number[] = [];
  let offsetMs = 0;
  const rules = { ...VERIFYING_S3_KEYS, now: () => new Date(Date.now() + offsetMs) };

  const answer = async (request: IncomingMessage): Promise<S3Reply> => {
    const method = request.method ?? '';
    const target = request.url ?? '/';
    const body = await buffer(request);
    await s3.beforeAnswer?.();
    const fault = faults.shift();
    if (fault !== undefined) return { status: fault, error: fault === 503 ? 'SlowDown' : 'InternalError' };
    const headers = request.headers as Readonly<Record<string, string>>;
    const refusal = checkSignature({ method, target, headers, body }, rules);
    if (refusal !== null) return { status: 403, error: refusal };
    return bucket.answer(method, new URL(target, 'http://s3'), headers, body);
  };
  const server = createServer((request, response) => {
    answer(request).then(
      (reply) => send(response, request.method ?? '', reply),
      (error: unknown) => response.destroy(error as Error),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const s3: VerifyingS3 = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bucket,
    advance: (milliseconds) => {
      offsetMs += milliseconds;
    },
    failWith: (...statuses) => void faults.push(...statuses),
    beforeAnswer: null,
    close: () => closeServer(server),
  };
  return s3;
}

function send(response: ServerResponse, method: string, reply: S3Reply): void {
  const content =
    'error' in reply
      ? Buffer.from(`<?xml version="1.0"?><Error><Code>${reply.error}</Code><Message>${reply.error}</Message></Error>`)
      : (reply.content ?? Buffer.alloc(0));
  const type = 'error' in reply ? { 'content-type': 'application/xml' } : reply.headers;
  response.writeHead(reply.status, { 'content-length': content.length, ...type });
  response.end(method === 'HEAD' ? undefined : content);
}

export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
