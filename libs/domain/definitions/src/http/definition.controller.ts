import { Body, Controller, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FACTORY, FactoriesService, managedFactory } from '#domain/factories';
import { Audited, Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { BodyLimit, MIB, Operation, pathId, rejectionProblem } from '#platform/http';
import { DefinitionsService } from '../application/definitions.service.js';
import { invalidDefinition, presentPlan } from './definition-presenters.js';
import {
  ApplyFactoryDefinitionParameters,
  ApplyFactoryDefinitionResponse,
  FactoryDefinitionFiles,
  ValidateFactoryDefinitionResponse,
} from './definition.dto.js';

/** All files together, as JSON. */
export const MAX_DEFINITION = 8 * MIB;

export const DEFINITION_EXAMPLE = {
  value: {
    files: [
      { path: 'factory.yaml', content: 'schemaVersion: v1alpha1\nname: Maintenance\n' },
      {
        path: 'automations/nightly/automation.md',
        content:
          '---\ntriggers:\n  - provider: schedule\n    event: cron_fired\n    schedule:\n      cron: 0 3 * * *\n---\nUpdate the dependencies.\n',
      },
    ],
  },
};

@ApiTags('Factories')
@Controller('factories/:factoryUid/definition')
export class DefinitionController {
  constructor(
    private readonly factories: FactoriesService,
    private readonly definitions: DefinitionsService,
  ) {}

  @Put()
  @Authorize('factories:manage', 'factory')
  @Audited('factory_definition.applied')
  @BodyLimit(MAX_DEFINITION)
  @Operation({
    id: 'applyFactoryDefinition',
    summary: 'Apply a factory definition',
    description:
      'Applies all files or nothing. Webhooks, agents and automations whose files were removed are deleted; resources that were created through the API are not changed. Applying the same files again changes nothing. A definition that cannot be applied is rejected with 400, with file, line and column of every issue in `errors` and again in `diagnostics`, as in the response of validate. At most 256 files of 262,144 bytes, 8 MiB together.',
    request: DEFINITION_EXAMPLE,
    success: {
      status: 200,
      description: 'What was changed, or would be changed.',
      type: ApplyFactoryDefinitionResponse,
    },
  })
  async applyFactoryDefinition(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Query() { dry_run: isDry = false }: ApplyFactoryDefinitionParameters,
    @Body() { files }: FactoryDefinitionFiles,
  ): Promise<ApplyFactoryDefinitionResponse> {
    const factory = await managedFactory(this.factories, caller, factoryUid);
    const { type, uid } = caller.principal;
    const result = isDry
      ? await this.definitions.validate(factory, files)
      : await this.definitions.apply(factory.uid, { type, uid }, files);
    switch (result.kind) {
      case 'applied':
        return presentPlan(true, result.plan);
      case 'valid':
        return presentPlan(false, result.plan);
      case 'not_found':
        throw rejectionProblem(result, FACTORY);
      case 'invalid':
        throw invalidDefinition(files, result.diagnostics);
    }
  }

  @Post('validate')
  @Authorize('factories:manage', 'factory')
  @BodyLimit(MAX_DEFINITION)
  @Operation({
    id: 'validateFactoryDefinition',
    summary: 'Validate a factory definition',
    description: 'Changes nothing. Also checks what the files refer to: secrets, webhooks, environments, names.',
    request: DEFINITION_EXAMPLE,
    success: { status: 200, description: 'All issues of the definition.', type: ValidateFactoryDefinitionResponse },
  })
  async validateFactoryDefinition(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Body() { files }: FactoryDefinitionFiles,
  ): Promise<ValidateFactoryDefinitionResponse> {
    const result = await this.definitions.validate(await managedFactory(this.factories, caller, factoryUid), files);
    return result.kind === 'valid'
      ? { valid: true, diagnostics: [] }
      : { valid: false, diagnostics: [...result.diagnostics] };
  }

  @Get()
  @Authorize('factories:manage', 'factory')
  @Operation({
    id: 'exportFactoryDefinition',
    summary: 'Export a factory definition',
    description:
      'Returns the present state as files. A file that was applied is returned verbatim if it still describes the resource; otherwise it is generated. Resources that were created through the API are not included. Applying the response changes nothing, unless something was changed through the API to a value that files cannot express.',
    success: { status: 200, description: 'The files, by path.', type: FactoryDefinitionFiles },
  })
  async exportFactoryDefinition(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
  ): Promise<FactoryDefinitionFiles> {
    return { files: await this.definitions.export(await managedFactory(this.factories, caller, factoryUid)) };
  }
}
