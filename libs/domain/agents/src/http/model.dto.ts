import { ArrayField, BooleanField, EnumField, object, StringField } from '#platform/http';
import { MODEL_PROVIDERS, type ModelProvider } from '../domain/model-catalogue.js';

export class ModelItem {
  @StringField({ description: 'What `model_id` of a configuration takes.', example: 'auto' }) id: string;
  @StringField({ example: 'Auto', description: 'Name of the model, for people.' }) display_name: string;
  @EnumField(MODEL_PROVIDERS, { description: 'Provider of the model.' }) provider: ModelProvider;
  @BooleanField({ description: 'Whether it takes images.' }) vision_supported: boolean;
}

export class ListModelsResponse {
  @StringField({
    description: 'The team’s default; `auto`, the agent’s own, where the team has none.',
    example: 'auto',
  })
  default_model_id: string;

  @ArrayField(object(() => ModelItem), { description: 'The known models.' }) models: ModelItem[];
}
