import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { ArrayField, BooleanField, EnumField, object, Operation, StringField } from '#platform/http';
import { OfferedModels } from '../adapters/offered-models.js';
import { MODEL_PROVIDERS, type ModelProvider } from '../domain/model-catalogue.js';

export class ModelItem {
  @StringField({ description: 'Value for `model_id` of a configuration.', example: 'auto' }) id: string;
  @StringField({ example: 'Auto', description: 'Name of the model, for people.' }) display_name: string;
  @EnumField(MODEL_PROVIDERS, { description: 'Provider of the model.' }) provider: ModelProvider;
  @BooleanField({ description: 'Whether the model accepts images.' }) vision_supported: boolean;
}

export class ListModelsResponse {
  @StringField({
    description: 'The team’s default; `auto`, the agent’s own, where the team has none.',
    example: 'auto',
  })
  default_model_id: string;

  @ArrayField(object(() => ModelItem), { description: 'The known models.' }) models: ModelItem[];
}

@ApiTags('Agents')
@Controller('agent/models')
export class ModelsController {
  constructor(private readonly offered: OfferedModels) {}

  @Get()
  @Authorize('runs:read')
  @Operation({
    id: 'listModels',
    summary: 'List models',
    description:
      'Models to choose from, and the one that runs use which name none: the team’s default, or `auto`, the agent’s own. For a user on several teams without the team header it is `auto`. A run may also name a model that is not listed here: agents know more models than this list.',
    team: true,
    success: { status: 200, description: 'The models.', type: ListModelsResponse },
    errors: [403],
  })
  listModels(@CurrentCaller() { principal, teamUid }: Caller): ListModelsResponse {
    const team = principal.memberships.find((membership) => membership.teamUid === teamUid)?.team;
    const { default_model_id, models } = this.offered.catalogue.forDefault(team?.defaultModelId ?? null);
    return { default_model_id, models: [...models] };
  }
}
