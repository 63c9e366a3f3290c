import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { RequestHandler, Response } from 'express';
import { KeyedSemaphore } from '#platform/kernel';
import { onceClosed } from '../edge/once-closed.js';

/** Files that are read at the same time: each is in memory as a whole, and anybody can request it without a token. */
const MAX_READ_AT_ONCE = 4;

/** Built at the first request. The UI does not store the token, because other pages share the storage of the origin. */
export function serveDocument(
  app: NestExpressApplication,
  build: () => OpenAPIObject,
  encoders: Encoders = ENCODERS,
): void {
  app.use(['/docs', '/openapi.json'], compressResponses(encoders));
  SwaggerModule.setup('docs', app, build, {
    jsonDocumentUrl: 'openapi.json',
    raw: ['json'],
    customSiteTitle: 'Headrace API',
    swaggerOptions: { persistAuthorization: false, displayRequestDuration: true, filter: true },
  });
}

type Encoding = 'br' | 'gzip';
type Encoders = Readonly<Record<Encoding, (body: Buffer) => Promise<Buffer>>>;

const ENCODERS: Encoders = {
  // The default quality of 11 takes two seconds for Swagger UI's bundle.
  br: (body: Buffer) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (body: Buffer) => promisify(gzip)(body),
};

/** A response is kept in memory until it is complete: for static files and documents, never for streams. */
function compressResponses(encoders: Encoders): RequestHandler {
  const encode = encodeOnce(encoders);
  const permits = new KeyedSemaphore({ total: MAX_READ_AT_ONCE });
  return (request, response, next) => {
    response.vary('Accept-Encoding');
    const encoding = request.acceptsEncodings('br', 'gzip');
    const isWhole = request.method === 'GET' && request.headers.range === undefined;
    if (!isWhole || (encoding !== 'br' && encoding !== 'gzip')) {
      next();
      return;
    }
    const respond = (): Promise<void> =>
      new Promise((release) => {
        onceClosed(response, release);
        compress(response, (body) => encode(encoding, body).finally(release), encoding);
        next();
      });
    permits.run('', respond).catch(next);
  };
}

/**
 * Compressing a file takes up to 100 ms. The files are those of this process, so there are few.
 */
function encodeOnce(encoders: Encoders): (encoding: Encoding, body: Buffer) => Promise<Buffer> {
  const encoded = new Map<string, Promise<Buffer>>();
  return (encoding, body) => {
    const key = `${encoding} ${createHash('sha256').update(body).digest('base64')}`;
    const result = encoded.get(key) ?? encoders[encoding](body);
    encoded.set(key, result);
    result.catch(() => encoded.delete(key));
    return result;
  };
}

function compress(response: Response, encode: (body: Buffer) => Promise<Buffer>, encoding: Encoding): void {
  const end = response.end.bind(response);
  const chunks: Buffer[] = [];
  const add = (chunk: unknown, charset: unknown): void => {
    if (typeof chunk === 'string') chunks.push(Buffer.from(chunk, charset as BufferEncoding | undefined));
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
  };
  Object.assign(response, {
    write(chunk: unknown, charset: unknown): boolean {
      add(chunk, typeof charset === 'string' ? charset : undefined);
      return true;
    },
    end(chunk: unknown, charset: unknown): Response {
      add(chunk, typeof charset === 'string' ? charset : undefined);
      const body = Buffer.concat(chunks.splice(0));
      if (response.statusCode !== 200 || body.length === 0) return end(body);
      encode(body).then(
        (compressed) => {
          response.setHeader('Content-Encoding', encoding);
          response.setHeader('Content-Length', compressed.length);
          end(compressed);
        },
        (error: unknown) => response.destroy(error instanceof Error ? error : new Error(String(error))),
      );
      return response;
    },
  });
}
