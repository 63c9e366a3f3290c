import type { NestExpressApplication } from '@nestjs/platform-express';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { compressResponses } from './compress-responses.js';

/**
 * Swagger UI at `/docs`, the document at `/openapi.json`. Built at the first request. The UI forgets a token with its page:
 * other pages share the origin, and its storage.
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
