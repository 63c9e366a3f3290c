import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { RequestHandler, Response } from 'express';

/** Built at the first request. The UI does not store the token, because other pages share the storage of the origin. */
export function serveDocument(app: NestExpressApplication, build: () => OpenAPIObject): void {
  app.use(['/docs', '/openapi.json'], compressResponses());
  SwaggerModule.setup('docs', app, build, {
    jsonDocumentUrl: 'openapi.json',
    raw: ['json'],
    customSiteTitle: 'Headrace API',
    swaggerOptions: { persistAuthorization: false, displayRequestDuration: true, filter: true },
  });
}

const ENCODERS = {
  // The default quality of 11 takes two seconds for Swagger UI's bundle.
  br: (body: Buffer) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (body: Buffer) => promisify(gzip)(body),
};

/** A response is kept in memory until it is complete: for static files and documents, never for streams. */
function compressResponses(): RequestHandler {
  return (request, response, next) => {
    response.vary('Accept-Encoding');
    const encoding = request.acceptsEncodings('br', 'gzip');
    const isWhole = request.method === 'GET' && request.headers.range === undefined;
    if (isWhole && (encoding === 'br' || encoding === 'gzip')) compress(response, encoding);
    next();
  };
}

function compress(response: Response, encoding: keyof typeof ENCODERS): void {
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
      const body = Buffer.concat(chunks);
      if (response.statusCode !== 200 || body.length === 0) return end(body);
      ENCODERS[encoding](body).then(
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
