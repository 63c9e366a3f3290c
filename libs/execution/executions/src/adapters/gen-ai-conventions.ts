import type { Settings } from '#platform/config';
import type { SpanAttributes } from '#platform/observability';

export type GenAiVersion = Settings['genaiSemconvVersion'];

interface Agent {
  /** Id of the harness. */
  readonly name: string;
  readonly id: string | undefined;
  readonly version: string | undefined;
  readonly model: string | undefined;
}

/** Prefixes of model ids, and the names that the conventions have for their providers. */
const PROVIDERS_OF_MODELS: readonly (readonly [RegExp, string])[] = [
  [/^claude/, 'anthropic'],
  [/^(gpt|o\d|codex)/, 'openai'],
  [/^gemini/, 'gcp.gemini'],
  [/^(mistral|codestral|devstral)/, 'mistral_ai'],
  [/^deepseek/, 'deepseek'],
  [/^grok/, 'x_ai'],
];
const PROVIDERS_OF_HARNESSES: Readonly<Record<string, string>> = {
  claude: 'anthropic',
  codex: 'openai',
  gemini: 'gcp.gemini',
};
/** The conventions require a provider and allow other names, so an agent whose provider is not known is its own one. */
function providerOf({ name, model }: Pick<Agent, 'name' | 'model'>): string {
  // Routers name models as `provider/model`.
  const id = model?.slice(model.lastIndexOf('/') + 1).toLowerCase() ?? '';
  const [, provider] = PROVIDERS_OF_MODELS.find(([pattern]) => pattern.test(id)) ?? [];
  return provider ?? PROVIDERS_OF_HARNESSES[name] ?? name;
}

export const schemaUrlOf = (version: GenAiVersion): string => `https://opentelemetry.io/schemas/${version}`;

/** Of a span `invoke_agent`: what is known about an agent, without the turn. */
export function agentAttributes(agent: Agent, version: GenAiVersion): SpanAttributes {
  const provider = providerOf(agent);
  return {
    'gen_ai.operation.name': 'invoke_agent',
    ...(version === '1.36.0'
      ? { 'gen_ai.system': provider === 'x_ai' ? 'xai' : provider }
      : { 'gen_ai.provider.name': provider, 'gen_ai.agent.version': agent.version }),
    'gen_ai.agent.name': agent.name,
    'gen_ai.agent.id': agent.id,
    'gen_ai.request.model': agent.model,
  };
}
