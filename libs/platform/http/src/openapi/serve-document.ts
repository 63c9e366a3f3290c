import type { NestExpressApplication } from '@nestjs/platform-express';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { compressResponses } from './compress-responses.js';

/**
 * Serves Swagger UI at `/docs` and the document at `/openapi.json`, built at the first request. The UI does not store the
 * token, because other pages share the storage of the origin.
 */
export function serveDocument(app: NestExpressApplication, build: () => OpenAPIObject): void {
  app.use(['/docs', '/openapi.json'], compressResponses());
  SwaggerModule.setup('docs', app, build, {
    jsonDocumentUrl: 'openapi.json',
    raw: ['json'],
    customSiteTitle: 'Headrace API',
    swaggerOptions: { persistAuthorization: false, displayRequestDuration: true, filter: true },
  });
}
