import { STANDARD_HARNESSES } from '#execution/runner';
import type { HarnessDefinition } from '#execution/runner-protocol';

/** What the model is called at the endpoint; an alias, where the endpoint is a gateway. */
export const ALIAS = 'team-model';

export interface Endpoint {
  readonly agent: string;
  readonly kind: 'LiteLLM' | 'Bedrock' | 'Vertex' | 'Azure';
  /** Beside the settings of the harness that are not about an endpoint. `{url}` is the endpoint of the test. */
  readonly env: Readonly<Record<string, string>>;
  readonly authVariable: string;
  readonly authMethod?: string;
  /** Of the run. Default: the alias. */
  readonly model?: string;
  /** Where the agent asks. */
  readonly path: RegExp;
  /** The header with the key, as the agent sends it. */
  readonly header: readonly [name: string, value: (key: string) => string];
}

const bearer = ['authorization', (key: string) => `Bearer ${key}`] as const;
const plain = (name: string) => [name, (key: string) => key] as const;

const codex = (provider: object): Record<string, string> => ({
  MODEL_PROVIDER: 'house',
  CODEX_CONFIG: JSON.stringify({
    model: ALIAS,
    model_providers: { house: { name: 'House', wire_api: 'responses', ...provider } },
  }),
});

const opencode = (provider: string, options: object): Record<string, string> => ({
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  OPENCODE_CONFIG_CONTENT: JSON.stringify({
    model: `${provider}/${ALIAS}`,
    small_model: `${provider}/${ALIAS}`,
    provider: { [provider]: { ...options, models: { [ALIAS]: { name: ALIAS } } } },
  }),
});

const CLAUDE = { agent: 'claude', path: /\/v1\/messages$/ } as const;
const QUIET = { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', CLAUDE_CODE_MAX_RETRIES: '1' };
const CODEX = { agent: 'codex', path: /\/responses$/, header: bearer } as const;

/** The rows of the table of model endpoints in docs/model-endpoints.md that say `tried`. */
export const ENDPOINTS: readonly Endpoint[] = [
  {
    ...CLAUDE,
    kind: 'LiteLLM',
    env: { ...QUIET, ANTHROPIC_BASE_URL: '{url}' },
    authVariable: 'ANTHROPIC_AUTH_TOKEN',
    header: bearer,
  },
  {
    ...CLAUDE,
    kind: 'Bedrock',
    env: { ...QUIET, CLAUDE_CODE_USE_BEDROCK: '1', ANTHROPIC_BEDROCK_BASE_URL: '{url}', AWS_REGION: 'us-east-1' },
    authVariable: 'AWS_BEARER_TOKEN_BEDROCK',
    path: new RegExp(`/model/${ALIAS}/invoke-with-response-stream$`),
    header: bearer,
  },
  {
    ...CLAUDE,
    kind: 'Vertex',
    env: {
      ...QUIET,
      CLAUDE_CODE_USE_VERTEX: '1',
      CLAUDE_CODE_SKIP_VERTEX_AUTH: '1',
      ANTHROPIC_VERTEX_BASE_URL: '{url}/v1',
      ANTHROPIC_VERTEX_PROJECT_ID: 'house',
      CLOUD_ML_REGION: 'us-east5',
    },
    authVariable: 'ANTHROPIC_CUSTOM_HEADERS',
    path: new RegExp(`/v1/projects/house/locations/us-east5/publishers/anthropic/models/${ALIAS}:streamRawPredict$`),
    header: plain('x-gateway-key'),
  },
  {
    ...CLAUDE,
    kind: 'Azure',
    env: { ...QUIET, CLAUDE_CODE_USE_FOUNDRY: '1', ANTHROPIC_FOUNDRY_BASE_URL: '{url}/anthropic' },
    authVariable: 'ANTHROPIC_FOUNDRY_API_KEY',
    path: /^\/anthropic\/v1\/messages$/,
    header: plain('x-api-key'),
  },
  {
    ...CODEX,
    kind: 'LiteLLM',
    env: codex({ base_url: '{url}/v1', env_key: 'OPENAI_API_KEY', request_max_retries: 1 }),
    authVariable: 'OPENAI_API_KEY',
  },
  {
    ...CODEX,
    kind: 'Azure',
    env: codex({
      base_url: '{url}/openai',
      env_key: 'AZURE_OPENAI_API_KEY',
      query_params: { 'api-version': '2025-04-01-preview' },
    }),
    authVariable: 'AZURE_OPENAI_API_KEY',
    path: /^\/openai\/responses$/,
  },
  {
    agent: 'gemini',
    kind: 'LiteLLM',
    env: { GOOGLE_GEMINI_BASE_URL: '{url}' },
    authVariable: 'GEMINI_API_KEY',
    path: new RegExp(`^/v1beta/models/${ALIAS}:streamGenerateContent$`),
    header: plain('x-goog-api-key'),
  },
  {
    agent: 'gemini',
    kind: 'Vertex',
    env: { GOOGLE_GENAI_USE_VERTEXAI: 'true', GOOGLE_VERTEX_BASE_URL: '{url}' },
    authVariable: 'GOOGLE_API_KEY',
    authMethod: 'vertex-ai',
    path: new RegExp(`^/v1beta1/publishers/google/models/${ALIAS}:streamGenerateContent$`),
    header: plain('x-goog-api-key'),
  },
  {
    agent: 'opencode',
    kind: 'LiteLLM',
    env: opencode('house', {
      npm: '@ai-sdk/openai-compatible',
      name: 'House',
      options: { baseURL: '{url}/v1', apiKey: '{env:OPENAI_API_KEY}' },
    }),
    authVariable: 'OPENAI_API_KEY',
    model: `house/${ALIAS}`,
    path: /^\/v1\/chat\/completions$/,
    header: bearer,
  },
  {
    agent: 'opencode',
    kind: 'Vertex',
    env: opencode('google-vertex', {
      options: {
        baseURL: '{url}/v1/publishers/google',
        project: 'house',
        location: 'us-east5',
        apiKey: '{env:GOOGLE_VERTEX_API_KEY}',
      },
    }),
    authVariable: 'GOOGLE_VERTEX_API_KEY',
    model: `google-vertex/${ALIAS}`,
    path: new RegExp(`^/v1/publishers/google/models/${ALIAS}:streamGenerateContent$`),
    header: plain('x-goog-api-key'),
  },
  {
    agent: 'opencode',
    kind: 'Azure',
    env: opencode('azure', { options: { baseURL: '{url}/openai' } }),
    authVariable: 'AZURE_API_KEY',
    model: `azure/${ALIAS}`,
    path: /^\/openai\/responses$/,
    header: plain('api-key'),
  },
  {
    agent: 'qwen',
    kind: 'LiteLLM',
    env: { OPENAI_BASE_URL: '{url}/v1' },
    authVariable: 'OPENAI_API_KEY',
    path: /^\/v1\/chat\/completions$/,
    header: bearer,
  },
  {
    agent: 'qwen',
    kind: 'Azure',
    env: { OPENAI_BASE_URL: '{url}/openai/v1' },
    authVariable: 'OPENAI_API_KEY',
    path: /^\/openai\/v1\/chat\/completions$/,
    header: bearer,
  },
];

export const endpointId = ({ agent, kind }: Endpoint): string => `${agent}-${kind.toLowerCase()}`;

/** Its entry of the harnesses file. `program`: how the agent is started. */
export function endpointEntry(
  { agent, env, authVariable, authMethod }: Endpoint,
  program: Partial<HarnessDefinition>,
  url: string,
): Partial<HarnessDefinition> {
  const { command, args } = program;
  const standard = STANDARD_HARNESSES[agent];
  const filled = Object.entries(env).map(([name, value]) => [name, value.replaceAll('{url}', url)] as const);
  return {
    ...standard,
    ...(command === undefined ? {} : { command }),
    ...(args === undefined ? {} : { args }),
    env: { ...standard?.env, ...Object.fromEntries(filled) },
    auth_variable: authVariable,
    ...(authMethod === undefined ? {} : { auth_method: authMethod }),
  };
}
