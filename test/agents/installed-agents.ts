import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HarnessDefinition } from '#execution/runner-protocol';

/** The model that tests ask for, and nobody offers. */
export const MODEL = 'mock-model';

export interface InstalledAgent {
  readonly id: string;
  readonly version: string;
  /** Its entry of the harnesses file, so that it asks the model at `url`. */
  readonly entry: (url: string) => Partial<HarnessDefinition>;
}

const directory = process.env['HEADRACE_TEST_AGENTS'] ?? '';

/** Why tests with real agents are skipped; null when they are not. */
export const skipReason =
  directory === '' ? 'HEADRACE_TEST_AGENTS names no directory with agents: see docs/harnesses.md' : null;

const node = join(directory, 'node/node_modules/node/bin/node');
const provider = (url: string) => ({
  name: 'test',
  base_url: `${url}/v1`,
  env_key: 'OPENAI_API_KEY',
  wire_api: 'responses',
  // A test has no time for its usual five attempts.
  request_max_retries: 1,
  stream_max_retries: 1,
});

interface Program {
  readonly package: string;
  /** In the package's directory. */
  readonly bin: string;
  readonly entry: (url: string, program: string) => Partial<HarnessDefinition>;
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  claude: {
    package: 'claude/node_modules/@agentclientprotocol/claude-agent-acp',
    bin: 'dist/index.js',
    entry: (url, program) => ({
      command: node,
      args: [program],
      env: { ANTHROPIC_BASE_URL: url, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', CLAUDE_CODE_MAX_RETRIES: '1' },
    }),
  },
  codex: {
    package: 'codex/node_modules/@agentclientprotocol/codex-acp',
    bin: 'dist/index.js',
    entry: (url, program) => ({
      command: node,
      args: [program],
      env: {
        MODEL_PROVIDER: 'test',
        CODEX_CONFIG: JSON.stringify({ model: MODEL, model_providers: { test: provider(url) } }),
      },
    }),
  },
  gemini: {
    package: 'gemini/node_modules/@google/gemini-cli',
    bin: 'bundle/gemini.js',
    entry: (url, program) => ({
      command: node,
      args: [program, '--acp', '--skip-trust', '--model={model}'],
      env: { GOOGLE_GEMINI_BASE_URL: url },
    }),
  },
  opencode: {
    package: 'opencode/node_modules/opencode-ai',
    bin: 'bin/opencode.exe',
    entry: (url, program) => ({
      command: program,
      args: ['acp'],
      auth_variable: 'OPENAI_API_KEY',
      env: {
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_CONFIG_CONTENT: JSON.stringify({
          model: `test/${MODEL}`,
          small_model: `test/${MODEL}`,
          provider: {
            test: {
              npm: '@ai-sdk/openai-compatible',
              name: 'test',
              options: { baseURL: `${url}/v1`, apiKey: '{env:OPENAI_API_KEY}' },
              models: { [MODEL]: { name: MODEL } },
            },
          },
        }),
      },
    }),
  },
  qwen: {
    package: 'qwen/node_modules/@qwen-code/qwen-code',
    bin: 'cli-entry.js',
    entry: (url, program) => ({
      command: node,
      args: [program, '--acp', '--auth-type=openai'],
      env: { OPENAI_BASE_URL: `${url}/v1` },
    }),
  },
};

/** Those of the directory, in a fixed order. */
export function installedAgents(): InstalledAgent[] {
  if (skipReason !== null) return [];
  return Object.entries(PROGRAMS).flatMap(([id, { package: name, bin, entry }]) => {
    const program = join(directory, name, bin);
    if (!existsSync(program)) return [];
    const { version } = JSON.parse(readFileSync(join(directory, name, 'package.json'), 'utf8')) as { version: string };
    return [{ id, version, entry: (url: string) => entry(url, program) }];
  });
}
