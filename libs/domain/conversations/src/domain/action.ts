import { ACTION_CATEGORIES, type ActionName, type Category, type ResultState } from './conversation.js';
import type { CallFold } from './fold-state.js';
import { field, textField, textsField } from './json-fields.js';

const SKILL_TOOLS = new Set(['skill', 'activate_skill', 'read_skill', 'load_skill', 'use_skill']);
const AGENT_TOOLS = new Set(['task', 'agent', 'start_agent', 'spawn_agent', 'dispatch_agent', 'subagent']);

const BY_KIND: Partial<Record<NonNullable<CallFold['tool_kind']>, ActionName>> = {
  execute: 'run_command',
  read: 'read_files',
  edit: 'edit_files',
  delete: 'edit_files',
  move: 'edit_files',
  search: 'search_files',
  fetch: 'fetch_url',
};

/** For agents that name their tools but tell no kind. */
const BY_TOOL: Readonly<Record<string, ActionName>> = {
  bash: 'run_command',
  shell: 'run_command',
  exec_command: 'run_command',
  run_shell_command: 'run_command',
  read: 'read_files',
  read_file: 'read_files',
  edit: 'edit_files',
  write: 'edit_files',
  write_file: 'edit_files',
  apply_patch: 'edit_files',
  grep: 'search_files',
  glob: 'search_files',
  webfetch: 'fetch_url',
  web_fetch: 'fetch_url',
};

/** Public name and category of a tool call, from what is known of it so far. */
export function actionOf(call: CallFold): { name: ActionName; category: Category } {
  const name = actionName(call);
  return { name, category: ACTION_CATEGORIES[name] };
}

function actionName(call: CallFold): ActionName {
  const tool = call.tool_name?.toLowerCase() ?? '';
  if (call.delegates || AGENT_TOOLS.has(tool)) return 'start_agent';
  if (SKILL_TOOLS.has(tool)) return 'read_skill';
  if (tool.startsWith('mcp__')) return 'call_mcp_tool';
  const byKind = call.tool_kind === undefined ? undefined : BY_KIND[call.tool_kind];
  const name = byKind ?? (Object.hasOwn(BY_TOOL, tool) ? BY_TOOL[tool] : undefined) ?? 'other';
  return name === 'read_files' && isSkillFile(filesOf(call)) ? 'read_skill' : name;
}

function isSkillFile(paths: readonly string[]): boolean {
  return paths.length === 1 && /(^|\/)SKILL\.md$/.test(paths[0] ?? '');
}

const PATH_KEYS = ['path', 'file_path', 'filePath', 'absolute_path', 'target_file', 'notebook_path', 'paths', 'files'];
const MOVE_KEYS = ['source', 'destination', 'old_path', 'new_path', 'from', 'to'];

/** The files that a call names: in its diffs, its input and its locations, each once. */
export function filesOf(call: CallFold): string[] {
  const diffs = (call.content ?? []).flatMap((item) => (item.type === 'diff' && item.path ? [item.path] : []));
  const keys = call.tool_kind === 'move' ? [...PATH_KEYS, ...MOVE_KEYS] : PATH_KEYS;
  const named = keys.flatMap((key) => textsField(call.input, key));
  const nested = (field(call.input, 'files') ?? []) as unknown;
  const inList = Array.isArray(nested) ? nested.flatMap((item) => textField(item, 'path', 'file_path') ?? []) : [];
  return [...new Set([...diffs, ...named, ...inList, ...(call.paths ?? [])])];
}

/**
 * `running` until the agent, or the end of its turn, says otherwise. Whether a command that exits with an error counts
 * as a completed call differs from agent to agent; here it has failed.
 */
export function resultState(call: CallFold, exitCode?: number): ResultState {
  if (call.status === 'completed') return exitCode === undefined || exitCode === 0 ? 'completed' : 'failed';
  if (call.status !== 'failed' && call.closed === undefined) return 'running';
  if (call.denied) return 'denied';
  return call.status === 'failed' ? 'failed' : (call.closed ?? 'failed');
}
