import { Controller, Get } from '@nestjs/common';
import { Authorize } from '#platform/auth';
import { TriggerProviders } from '#domain/automations';
import { Operation } from '#platform/http';
import { definitionSchemas, SCHEMA_VERSION } from '../domain/schema/definition-schemas.js';
import { GetFactoryFileSchemasResponse } from './factory-file-schemas.dto.js';

@Controller(`factory-files/schemas/${SCHEMA_VERSION}`)
export class FactoryFileSchemasController {
  constructor(private readonly triggers: TriggerProviders) {}

  @Get()
  @Authorize('factories:read')
  @Operation({
    id: 'getFactoryFileSchemas',
    summary: 'Get schemas of definition files',
    description:
      'For everybody with a token. They are what definitions are validated with, and for editors to check files as they are written. With the triggers that this installation knows.',
    tag: 'Factories',
    success: { status: 200, description: 'The schemas, by kind of file.', type: GetFactoryFileSchemasResponse },
    errors: [403],
  })
  getFactoryFileSchemas(): GetFactoryFileSchemasResponse {
    return { schema_version: SCHEMA_VERSION, schemas: definitionSchemas({ triggers: this.triggers.all() }) };
  }
}
