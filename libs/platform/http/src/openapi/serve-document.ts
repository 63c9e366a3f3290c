import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Express, RequestHandler, Response } from 'express';
import { onceClosed } from '../edge/once-closed.js';

/** The UI does not store the token, because other pages share the storage of the origin. */
export function serveDocument(
  app: NestExpressApplication,
  build: () => OpenAPIObject,
  encoders: Encoders = ENCODERS,
): void {
  let document: OpenAPIObject | undefined;
  // At the first request: the start of the API is the faster.
  const built = (): OpenAPIObject => (document ??= build());
  let text: Buffer | undefined;
  app.use(['/docs', '/openapi.json'], keepResponses(encoders));
  const server: Express = app.getHttpAdapter().getInstance();
  server.get('/openapi.json', (_request, response) => {
    response.type('application/json').send((text ??= Buffer.from(JSON.stringify(built()))));
  });
  SwaggerModule.setup('docs', app, built, {
    raw: false,
    customSiteTitle: 'Headrace API',
    swaggerOptions: { persistAuthorization: false, displayRequestDuration: true, filter: true },
  });
}

/** Large, and the same for all clients. Of the pages there are two, with links that depend on the path. */
const KEPT = new Set(
  ['swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js', 'swagger-ui-init.js']
    .map((name) => `/docs/${name}`)
    .concat('/openapi.json'),
);

type Encoding = 'br' | 'gzip' | 'identity';
type Encoder = (body: Buffer) => Promise<Buffer>;
type Encoders = Readonly<Record<Exclude<Encoding, 'identity'>, Encoder>>;

const ENCODERS: Encoders = {
  // The default quality of 11 takes two seconds for Swagger UI's bundle.
  br: (body: Buffer) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (body: Buffer) => promisify(gzip)(body),
};

/** A response that is kept. */
interface Copy {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Headers that belong to the file, and not to one request. */
const KEPT_HEADERS = ['content-type', 'content-encoding', 'etag', 'last-modified', 'cache-control'];

/**
 * Reads and compresses each file once, which takes up to 100 ms and the memory of the whole file, and anybody can request it without a
 * token. Without compression, too: the script with the document would be another copy in each response.
 */
function keepResponses(encoders: Encoders): RequestHandler {
  const copies = new Map<string, Promise<Copy | null>>();
  return (request, response, next) => {
    const [path = ''] = request.originalUrl.split('?', 1);
    if (!KEPT.has(path)) {
      next();
      return;
    }
    response.vary('Accept-Encoding');
    const encoding = request.acceptsEncodings('br', 'gzip', 'identity') as Encoding | false;
    const isWhole = request.method === 'GET' && request.headers.range === undefined;
    if (!isWhole || encoding === false) {
      next();
      return;
    }
    const key = `${encoding} ${path}`;
    const known = copies.get(key);
    if (known !== undefined) {
      known.then((copy) => (copy === null ? next() : send(copy, response)), next);
      return;
    }
    const encode = encoding === 'identity' ? (body: Buffer) => Promise.resolve(body) : encoders[encoding];
    const copy = capture(response, encoding, encode);
    copies.set(key, copy);
    const forget = (): void => void copies.delete(key);
    copy.then((made) => made === null && forget(), forget);
    next();
  };
}

const send = ({ headers, body }: Copy, response: Response): void => void response.set(headers).send(body);

/**
 * Encodes the body when it is complete. Null: the response has none or is not successful, or its client has left before. Rejects
 * when it cannot be encoded.
 */
function capture(response: Response, encoding: Encoding, encode: Encoder): Promise<Copy | null> {
  const end = response.end.bind(response);
  const chunks: Buffer[] = [];
  const add = (chunk: unknown, charset: unknown): void => {
    if (typeof chunk === 'string') chunks.push(Buffer.from(chunk, charset as BufferEncoding | undefined));
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
  };
  return new Promise((resolve, reject) => {
    let isComplete = false;
    onceClosed(response, () => isComplete || resolve(null));
    Object.assign(response, {
      write(chunk: unknown, charset: unknown): boolean {
        add(chunk, typeof charset === 'string' ? charset : undefined);
        return true;
      },
      end(chunk: unknown, charset: unknown): Response {
        add(chunk, typeof charset === 'string' ? charset : undefined);
        const body = Buffer.concat(chunks.splice(0));
        if (response.statusCode !== 200 || body.length === 0) {
          resolve(null);
          // A file that cannot be read to its end has the length of the whole file.
          if (body.length > 0) response.setHeader('Content-Length', body.length);
          return end(body);
        }
        isComplete = true;
        encode(body).then(
          (encoded) => {
            if (encoding !== 'identity') response.setHeader('Content-Encoding', encoding);
            response.setHeader('Content-Length', encoded.length);
            const kept = KEPT_HEADERS.flatMap((name) => {
              const value = response.getHeader(name);
              return value === undefined ? [] : [[name, String(value)] as const];
            });
            resolve({ headers: Object.fromEntries(kept), body: encoded });
            end(encoded);
          },
          (error: unknown) => {
            reject(error instanceof Error ? error : new Error(String(error)));
            response.destroy();
          },
        );
        return response;
      },
    });
  });
}
