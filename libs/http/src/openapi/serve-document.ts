import type { INestApplication } from '@nestjs/common';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';

/** Swagger UI at `/docs`, the document at `/openapi.json`. Built at the first request. */
export function serveDocument(app: INestApplication, build: () => OpenAPIObject): void {
  SwaggerModule.setup('docs', app, build, {
    jsonDocumentUrl: 'openapi.json',
    raw: ['json'],
    customSiteTitle: 'Headrace API',
    swaggerOptions: { persistAuthorization: true, displayRequestDuration: true },
  });
}
