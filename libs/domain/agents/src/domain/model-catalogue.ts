export const MODEL_PROVIDERS = ['OPENAI', 'ANTHROPIC', 'GOOGLE', 'UNKNOWN'] as const;
export type ModelProvider = (typeof MODEL_PROVIDERS)[number];

/** As on the wire. */
export interface Model {
  readonly id: string;
  readonly display_name: string;
  readonly provider: ModelProvider;
  readonly vision_supported: boolean;
}

/** The agent's own default. */
export const AUTO_MODEL: Model = { id: 'auto', display_name: 'Auto', provider: 'UNKNOWN', vision_supported: false };

const model = (provider: ModelProvider, id: string, display_name: string): Model => ({
  id,
  display_name,
  provider,
  vision_supported: true,
});

/** Where no MODELS_FILE says otherwise. */
const WELL_KNOWN: readonly Model[] = [
  model('ANTHROPIC', 'claude-opus-4-5', 'Claude Opus 4.5'),
  model('ANTHROPIC', 'claude-sonnet-4-5', 'Claude Sonnet 4.5'),
  model('ANTHROPIC', 'claude-haiku-4-5', 'Claude Haiku 4.5'),
  model('OPENAI', 'gpt-5', 'GPT-5'),
  model('OPENAI', 'gpt-5-mini', 'GPT-5 mini'),
  model('GOOGLE', 'gemini-2.5-pro', 'Gemini 2.5 Pro'),
  model('GOOGLE', 'gemini-2.5-flash', 'Gemini 2.5 Flash'),
];

/** The models that are offered to choose from. It forbids nothing: agents know more models than any list. */
export class ModelCatalogue {
  private readonly models: readonly Model[];

  constructor(models: readonly Model[] = WELL_KNOWN) {
    this.models = models.some(({ id }) => id === AUTO_MODEL.id) ? models : [AUTO_MODEL, ...models];
  }

  /** For a team whose default is this model, or that has none. The default is always among the models. */
  forDefault(modelId: string | null): { readonly default_model_id: string; readonly models: readonly Model[] } {
    if (modelId === null || this.models.some(({ id }) => id === modelId))
      return { default_model_id: modelId ?? AUTO_MODEL.id, models: this.models };
    const unlisted: Model = { id: modelId, display_name: modelId, provider: 'UNKNOWN', vision_supported: false };
    return { default_model_id: modelId, models: [...this.models, unlisted] };
  }
}
