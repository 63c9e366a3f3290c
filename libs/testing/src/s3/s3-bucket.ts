import { createHash, randomUUID } from 'node:crypto';

export type S3Reply =
  | { readonly status: number; readonly error: string }
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly content?: Buffer };

interface Upload {
  readonly key: string;
  readonly contentType: string;
  readonly parts: Map<number, Buffer>;
}

const MIN_PART_BYTES = 5 * 1024 * 1024;
const XML = { 'content-type': 'application/xml' };

/** What a bucket answers to the operations of S3 that the object store uses; in memory, path-style addresses. */
export class S3Bucket {
  readonly objects = new Map<string, { readonly content: Buffer; readonly contentType: string }>();
  private readonly uploads = new Map<string, Upload>();

  constructor(readonly name: string) {}

  /** Multipart uploads that were neither completed nor aborted. */
  get pendingUploads(): number {
    return this.uploads.size;
  }

  answer(method: string, url: URL, headers: Readonly<Record<string, string>>, body: Buffer): S3Reply {
    const [, bucket = '', ...rest] = decodeURIComponent(url.pathname).split('/');
    if (bucket !== this.name) return { status: 404, error: 'NoSuchBucket' };
    const key = rest.join('/');
    const query = url.searchParams;
    const contentType = headers['content-type'] ?? 'binary/octet-stream';
    if (key === '') return this.onBucket(method, query, body);
    if (method === 'POST' && query.has('uploads')) return this.beginUpload(key, contentType);
    const uploadId = query.get('uploadId');
    if (uploadId !== null) return this.onUpload(method, uploadId, query, body);
    switch (method) {
      case 'PUT':
        this.objects.set(key, { content: body, contentType });
        return { status: 200, headers: { etag: etag(body) } };
      case 'GET':
      case 'HEAD':
        return this.read(key, query);
      case 'DELETE':
        this.objects.delete(key);
        return { status: 204 };
      default:
        return { status: 405, error: 'MethodNotAllowed' };
    }
  }

  private read(key: string, query: URLSearchParams): S3Reply {
    const found = this.objects.get(key);
    if (!found) return { status: 404, error: 'NoSuchKey' };
    const overrides = ['content-type', 'content-disposition', 'cache-control'].flatMap((name) => {
      const value = query.get(`response-${name}`);
      return value === null ? [] : [[name, value] as const];
    });
    const headers = { 'content-type': found.contentType, ...Object.fromEntries(overrides) };
    return { status: 200, headers, content: found.content };
  }

  private onBucket(method: string, query: URLSearchParams, body: Buffer): S3Reply {
    if (method === 'HEAD') return { status: 200 };
    if (method === 'GET' && query.get('list-type') === '2') return this.list(query);
    if (method === 'POST' && query.has('delete')) {
      for (const [, key = ''] of body.toString().matchAll(/<Key>([^<]*)<\/Key>/g)) this.objects.delete(key);
      return { status: 200, headers: XML, content: Buffer.from('<DeleteResult></DeleteResult>') };
    }
    return { status: 405, error: 'MethodNotAllowed' };
  }

  private list(query: URLSearchParams): S3Reply {
    const prefix = query.get('prefix') ?? '';
    const after = query.get('continuation-token') ?? '';
    const max = Number(query.get('max-keys') ?? 1000);
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
    const page = keys.slice(0, max);
    const more = keys.length > max;
    const content = [
      `<ListBucketResult><IsTruncated>${more}</IsTruncated>`,
      ...page.map((key) => `<Contents><Key>${key}</Key></Contents>`),
      more ? `<NextContinuationToken>${page.at(-1) ?? ''}</NextContinuationToken>` : '',
      '</ListBucketResult>',
    ].join('');
    return { status: 200, headers: XML, content: Buffer.from(content) };
  }

  private beginUpload(key: string, contentType: string): S3Reply {
    const id = randomUUID();
    this.uploads.set(id, { key, contentType, parts: new Map() });
    const content = `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`;
    return { status: 200, headers: XML, content: Buffer.from(content) };
  }

  private onUpload(method: string, id: string, query: URLSearchParams, body: Buffer): S3Reply {
    const upload = this.uploads.get(id);
    if (!upload) return { status: 404, error: 'NoSuchUpload' };
    if (method === 'PUT') {
      upload.parts.set(Number(query.get('partNumber')), body);
      return { status: 200, headers: { etag: etag(body) } };
    }
    if (method === 'DELETE') {
      this.uploads.delete(id);
      return { status: 204 };
    }
    const numbers = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber>/g)].map(([, number]) =>
      Number(number),
    );
    const parts = numbers.flatMap((number) => upload.parts.get(number) ?? []);
    if (parts.length !== numbers.length) return { status: 400, error: 'InvalidPart' };
    if (parts.slice(0, -1).some((part) => part.length < MIN_PART_BYTES))
      return { status: 400, error: 'EntityTooSmall' };
    this.objects.set(upload.key, { content: Buffer.concat(parts), contentType: upload.contentType });
    this.uploads.delete(id);
    const content = '<CompleteMultipartUploadResult><ETag>"x"</ETag></CompleteMultipartUploadResult>';
    return { status: 200, headers: XML, content: Buffer.from(content) };
  }
}

const etag = (content: Buffer): string => `"${createHash('md5').update(content).digest('hex')}"`;
