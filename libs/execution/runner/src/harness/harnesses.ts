import type { HarnessDefinition } from '#execution/runner-protocol';

/** The id of the built-in agent, and the default. */
export const BUILTIN_HARNESS = 'oz';
export const BUILTIN_TRANSCRIPT = '{home}/.headrace-agent/sessions/{session_id}.jsonl';

/** The configuration in the repository must not grant permissions instead of the run. */
const OPENCODE_ASKS = {
  OPENCODE_PERMISSION: JSON.stringify({
    '*': 'ask',
    read: 'allow',
    glob: 'allow',
    grep: 'allow',
    list: 'allow',
    todowrite: 'allow',
    todoread: 'allow',
  }),
  OPENCODE_DISABLE_PROJECT_CONFIG: '1',
};

/** Messages of Claude Code about requests to the model that it repeats. */
const REPORT_RETRIES = [{ type: 'system', subtype: 'api_retry' }];

/** Agents known to speak the Agent Client Protocol; they are not installed with Headrace. Data only: adding one is adding a row. */
export const STANDARD_HARNESSES: Readonly<Record<string, HarnessDefinition>> = {
  claude: {
    command: 'claude-agent-acp',
    args: [],
    // As root, which it is only in containers, Claude Code requires IS_SANDBOX.
    env: {
      CLAUDE_CONFIG_DIR: '{home}/.claude',
      DISABLE_AUTOUPDATER: '1',
      IS_SANDBOX: '1',
      ANTHROPIC_MODEL: '{model}',
    },
    auth_variable: 'ANTHROPIC_API_KEY',
    install_hint: 'npm install -g @agentclientprotocol/claude-agent-acp (needs Node 22 or newer)',
    transcript_path: '{home}/.claude/projects/{cwd_slug}/{session_id}.jsonl',
    // The agent's default mode lets a classifier decide instead of the policy.
    permission_modes: { ask: 'default', allow: 'default' },
    session_meta: { claudeCode: { emitRawSDKMessages: REPORT_RETRIES } },
    // The repository's settings could allow tools, start servers and run hooks.
    permission_session_meta: {
      claudeCode: { emitRawSDKMessages: REPORT_RETRIES, options: { settingSources: ['user'] } },
    },
  },
  codex: {
    command: 'codex-acp',
    args: [],
    // Clients that support typed failures also get prompt suggestions by default, which cost model requests.
    env: { CODEX_HOME: '{home}/.codex', NO_BROWSER: '1', CODEX_ACP_PROMPT_SUGGESTIONS: 'false' },
    auth_variable: 'OPENAI_API_KEY',
    auth_method: 'api-key',
    install_hint: 'npm install -g @agentclientprotocol/codex-acp',
    state_paths: ['{home}/.codex'],
    transcript_path: '{home}/.codex/sessions/{year}/{month}/{day}/rollout-{timestamp}-{session_id}.jsonl',
    // Commands run in a sandbox without write access and network; everything else is requested.
    permission_modes: { ask: 'read-only' },
    client_meta: {
      terminal_output_delta: true,
      jetbrains: { air: { version: 1, capabilities: ['sessionFailure'] } },
    },
  },
  gemini: {
    command: 'gemini',
    // The directory is created for the run; Gemini uses no MCP servers in an untrusted one.
    args: ['--acp', '--skip-trust', '--model={model}'],
    auth_variable: 'GEMINI_API_KEY',
    auth_method: 'gemini-api-key',
    install_hint: 'npm install -g @google/gemini-cli',
    state_paths: ['{home}/.gemini'],
    transcript_path: '{home}/.gemini/tmp/{cwd_name}/chats/session-{day_before}-{session_id_8}.jsonl',
    permission_modes: { ask: 'default', allow: 'default' },
  },
  opencode: {
    command: 'opencode',
    args: ['acp'],
    // It reports failed requests that it repeats in its log only.
    env: { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_PRINT_LOGS: '1', OPENCODE_LOG_LEVEL: 'ERROR' },
    // Its database has the absolute path of each session.
    state_paths: ['{home}/.local/share/opencode', '{home}/.local/state/opencode'],
    // The most common of its many providers; for another set `auth_variable` in the file that HARNESSES_FILE names.
    auth_variable: 'ANTHROPIC_API_KEY',
    install_hint: 'npm install -g opencode-ai',
    permission_env: OPENCODE_ASKS,
  },
  qwen: {
    command: 'qwen',
    args: ['--acp', '--auth-type=openai'],
    env: { OPENAI_MODEL: '{model}' },
    auth_variable: 'OPENAI_API_KEY',
    auth_method: 'openai',
    install_hint: 'npm install -g @qwen-code/qwen-code (needs Node 22 or newer)',
    transcript_path: '{home}/.qwen/projects/{cwd_slug}/chats/{session_id}.jsonl',
    transcript_cwd_field: 'cwd',
    permission_modes: { ask: 'default', allow: 'default' },
  },
  copilot: {
    command: 'copilot',
    args: ['--acp'],
    env: { COPILOT_HOME: '{home}/.copilot', COPILOT_MODEL: '{model}' },
    auth_variable: 'COPILOT_GITHUB_TOKEN',
    install_hint: 'npm install -g @github/copilot',
    transcript_path: '{home}/.copilot/session-state/{session_id}/events.jsonl',
  },
};

export interface Harness extends HarnessDefinition {
  readonly id: string;
  /** Drops its privileges itself, after loading modules that its later user may not be able to read. */
  readonly isBuiltin: boolean;
}

/** @param builtinArgs Node arguments that start the built-in agent. null: no harness has this id. */
export function findHarness(
  id: string,
  extra: Readonly<Record<string, HarnessDefinition>>,
  builtinArgs: readonly string[],
): Harness | null {
  if (id === BUILTIN_HARNESS) {
    return {
      id,
      isBuiltin: true,
      command: process.execPath,
      args: [...builtinArgs],
      install_hint: 'it is part of Headrace: run `npm run build`',
      transcript_path: BUILTIN_TRANSCRIPT,
    };
  }
  const all = { ...STANDARD_HARNESSES, ...extra };
  const found = Object.hasOwn(all, id) ? all[id] : undefined;
  return found ? { id, isBuiltin: false, ...found } : null;
}

export function harnessIds(extra: Readonly<Record<string, HarnessDefinition>>): string[] {
  return [...new Set([BUILTIN_HARNESS, ...Object.keys(STANDARD_HARNESSES), ...Object.keys(extra)])];
}
