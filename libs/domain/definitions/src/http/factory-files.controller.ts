import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Authenticated } from '#platform/auth';
import { BodyLimit, Operation, pathId, ProblemError } from '#platform/http';
import { DefinitionsService } from '../application/definitions.service.js';
import { SCHEMA_VERSION } from '../domain/schema/definition-schemas.js';
import { DEFINITION_EXAMPLE, MAX_DEFINITION } from './definition.controller.js';
import {
  FactoryDefinitionFiles,
  GetFactoryFileSchemasResponse,
  ListFactoryFileSchemasResponse,
  ValidateFactoryFilesResponse,
} from './definition.dto.js';

const SCHEMAS = `schemas/${SCHEMA_VERSION}`;
const SUFFIX = '.schema.json';
const DOCUMENT = pathId(/^[a-z]+\.schema\.json$/);
const STATE_DEPENDENT_CHECKS = ['secrets', 'webhooks', 'environments', 'agents', 'names'];

/** Files of definitions without a factory. Any valid token is sufficient. */
@ApiTags('Factories')
@Controller('factory-files')
export class FactoryFilesController {
  constructor(private readonly definitions: DefinitionsService) {}

  @Post('validate')
  @HttpCode(200)
  @Authenticated()
  @BodyLimit(MAX_DEFINITION)
  @Operation({
    id: 'validateFactoryFiles',
    summary: 'Validate definition files',
    description:
      'Checks the files by themselves. Nothing is stored and no factory is read: what the files refer to is checked by `POST /factories/{factoryUid}/definition/validate`. Files with errors are a 200 with `valid: false`. Any valid token is sufficient.',
    request: DEFINITION_EXAMPLE,
    success: { status: 200, description: 'All issues of the files.', type: ValidateFactoryFilesResponse },
    errors: [400, 403],
  })
  validateFactoryFiles(@Body() { files }: FactoryDefinitionFiles): ValidateFactoryFilesResponse {
    const diagnostics = this.definitions.check(files);
    return {
      valid: diagnostics.length === 0,
      schema_version: SCHEMA_VERSION,
      diagnostics: [...diagnostics],
      deferred_resolutions: [],
      state_dependent_checks_not_run: STATE_DEPENDENT_CHECKS,
      validation_scope: { parser: 'checked', state_independent: 'checked', state_dependent: 'not_checked' },
    };
  }

  @Get('schemas')
  @Authenticated()
  @Operation({
    id: 'listFactoryFileSchemas',
    summary: 'List versions of the schemas of definition files',
    description: 'Any valid token is sufficient.',
    success: { status: 200, description: 'The versions.', type: ListFactoryFileSchemasResponse },
    errors: [403],
  })
  listFactoryFileSchemas(): ListFactoryFileSchemasResponse {
    const schema_url = `/api/v1/factory-files/${SCHEMAS}`;
    return { current_version: SCHEMA_VERSION, versions: [{ schema_version: SCHEMA_VERSION, schema_url }] };
  }

  @Get(SCHEMAS)
  @Authenticated()
  @Operation({
    id: 'getFactoryFileSchemas',
    summary: 'Get schemas of definition files',
    description:
      'The JSON Schemas that validate definitions, for editors. They contain the triggers that this installation has. Any valid token is sufficient.',
    success: { status: 200, description: 'The schemas, by kind of file.', type: GetFactoryFileSchemasResponse },
    errors: [403],
  })
  getFactoryFileSchemas(): GetFactoryFileSchemasResponse {
    const schemas = this.definitions.schemas();
    const documents = Object.fromEntries(Object.entries(schemas).map(([kind, schema]) => [`${kind}${SUFFIX}`, schema]));
    return { schema_version: SCHEMA_VERSION, schemas, documents };
  }

  @Get(`${SCHEMAS}/:document`)
  @Authenticated()
  @Operation({
    id: 'getFactoryFileSchema',
    summary: 'Get the schema of one kind of definition file',
    description: 'One JSON Schema (2020-12), complete by itself. Any valid token is sufficient.',
    success: {
      status: 200,
      description: 'The schema.',
      schema: { type: 'object', additionalProperties: true },
    },
    errors: [400, 403, 404],
  })
  getFactoryFileSchema(@Param('document', DOCUMENT) document: string): object {
    const found = Object.entries(this.definitions.schemas()).find(([kind]) => document === `${kind}${SUFFIX}`);
    if (!found) throw new ProblemError('resource_not_found', 'No schema of definition files has this name.');
    return found[1];
  }
}
