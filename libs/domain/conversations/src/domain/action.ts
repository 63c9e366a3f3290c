import {
  ACTION_CATEGORIES,
  type ActionName,
  type Category,
  type ResultState,
  type JsonObject,
} from './conversation.js';
import type { CallState } from './projection-state.js';
import { field, textField, textsField, isObject, integerField, listField } from './json-fields.js';

const SKILL_TOOLS = new Set(['skill', 'activate_skill', 'read_skill', 'load_skill', 'use_skill']);
const AGENT_TOOLS = new Set(['task', 'agent', 'start_agent', 'spawn_agent', 'dispatch_agent', 'subagent']);

const BY_KIND: Partial<Record<NonNullable<CallState['tool_kind']>, ActionName>> = {
  execute: 'run_command',
  read: 'read_files',
  edit: 'edit_files',
  delete: 'edit_files',
  move: 'edit_files',
  search: 'search_files',
  fetch: 'fetch_url',
};

/** For agents that report the name of a tool, but not its kind. */
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

export function actionOf(call: CallState): { name: ActionName; category: Category } {
  const name = actionName(call);
  return { name, category: ACTION_CATEGORIES[name] };
}

function actionName(call: CallState): ActionName {
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

export function filesOf(call: CallState): string[] {
  const diffs = (call.content ?? []).flatMap((item) => (item.type === 'diff' && item.path ? [item.path] : []));
  const keys = call.tool_kind === 'move' ? [...PATH_KEYS, ...MOVE_KEYS] : PATH_KEYS;
  const named = keys.flatMap((key) => textsField(call.input, key));
  const nested = (field(call.input, 'files') ?? []) as unknown;
  const inList = Array.isArray(nested) ? nested.flatMap((item) => textField(item, 'path', 'file_path') ?? []) : [];
  return [...new Set([...diffs, ...named, ...inList, ...(call.paths ?? [])])];
}

/**
 * `running` until the agent reports the end or its turn ends. Agents disagree on whether a command that exits with an error
 * counts as completed; here it has failed.
 */
export function resultState(call: CallState, exitCode?: number): ResultState {
  if (call.status === 'completed') return exitCode === undefined || exitCode === 0 ? 'completed' : 'failed';
  if (call.status !== 'failed' && call.closed === undefined) return 'running';
  if (call.denied) return 'denied';
  return call.status === 'failed' ? 'failed' : (call.closed ?? 'failed');
}

interface FileDiff {
  path: string;
  old_text?: string;
  new_text: string;
  truncated?: true;
}

export function actionInput(name: ActionName, call: CallState): JsonObject {
  const input = INPUTS[name](call);
  return call.input_truncated ? { ...input, truncated: true } : input;
}

const INPUTS: Record<ActionName, (call: CallState) => JsonObject> = {
  run_command: (call) => {
    const cwd = textField(call.input, 'cwd', 'workdir', 'working_directory', 'directory');
    return { command: commandOf(call), ...(cwd === undefined ? {} : { cwd }) };
  },
  read_files: (call) => ({ paths: filesOf(call) }),
  edit_files: (call) => ({
    paths: filesOf(call),
    diffs: diffsOf(call),
    ...(call.tool_kind === 'delete' || call.tool_kind === 'move' ? { operation: call.tool_kind } : {}),
  }),
  search_files: (call) => {
    const path = textField(call.input, 'path', 'directory', 'include');
    const query = textField(call.input, 'query', 'pattern', 'regex', 'glob', 'q') ?? titleOf(call);
    return { query, ...(path === undefined ? {} : { path }) };
  },
  fetch_url: (call) => {
    const url = textField(call.input, 'url', 'uri') ?? textsField(call.input, 'urls')[0];
    const query = textField(call.input, 'query', 'q');
    if (url === undefined && query !== undefined) return { query };
    return { url: url ?? /https?:\/\/[^\s"'`)]+/.exec(titleOf(call))?.[0] ?? titleOf(call) };
  },
  call_mcp_tool: (call) => {
    const [, server = '', ...tool] = (call.tool_name ?? '').split('__');
    return { server, tool: tool.join('__'), arguments: call.input ?? {} };
  },
  start_agent: (call) => {
    const prompt = textField(call.input, 'prompt', 'message', 'task');
    const type = textField(call.input, 'subagent_type', 'agent_type', 'agent', 'agent_name');
    return {
      description: textField(call.input, 'description') ?? titleOf(call),
      ...(prompt === undefined ? {} : { prompt }),
      ...(type === undefined ? {} : { agent_type: type }),
    };
  },
  read_skill: (call) => {
    const named = textField(call.input, 'bundled_skill_id', 'skill', 'skill_name', 'name', 'command');
    const path = textField(call.input, 'skill_path') ?? filesOf(call)[0] ?? (named?.includes('/') ? named : undefined);
    return path === undefined ? { bundled_skill_id: named ?? titleOf(call) } : { skill_path: path };
  },
  other: (call) => ({
    ...(call.tool_name === undefined ? {} : { tool_name: call.tool_name }),
    ...(call.title === undefined ? {} : { title: call.title }),
    ...(call.input === undefined ? {} : { arguments: call.input }),
  }),
};

/** Some agents report the command of a call only in its title, often in backticks. */
function commandOf(call: CallState): string {
  const given = field(call.input, 'command') ?? field(call.input, 'cmd') ?? field(call.input, 'script');
  if (typeof given === 'string' && given !== '') return given;
  if (Array.isArray(given)) return shellCommand(given.map(String));
  return titleOf(call).replace(/^`(.*)`$/s, '$1');
}

/** `["bash", "-lc", "make test"]` is the command `make test`. */
function shellCommand(words: string[]): string {
  const [shell = '', flag = '', script] = words;
  if (words.length === 3 && /(^|\/)(ba|z|da)?sh$/.test(shell) && /^-l?c$/.test(flag)) return script ?? '';
  return words.join(' ');
}

function diffsOf(call: CallState): FileDiff[] {
  const shown = (call.content ?? []).flatMap((item): FileDiff[] =>
    item.type === 'diff'
      ? [
          {
            path: item.path ?? '',
            ...(typeof item.old_text === 'string' ? { old_text: item.old_text } : {}),
            new_text: item.new_text ?? '',
            ...(item.truncated ? { truncated: true as const } : {}),
          },
        ]
      : [],
  );
  if (shown.length > 0) return shown;
  const path = filesOf(call)[0];
  if (path === undefined || !isObject(call.input)) return [];
  const oldText = textField(call.input, 'old_string', 'old_text', 'oldText', 'old_str');
  const newText = ['new_string', 'new_text', 'newText', 'new_str', 'content', 'file_text']
    .map((key) => field(call.input, key))
    .find((value) => typeof value === 'string');
  if (newText === undefined) return [];
  return [{ path, ...(oldText === undefined ? {} : { old_text: oldText }), new_text: newText }];
}

const titleOf = (call: CallState): string => call.title ?? call.tool_name ?? '';

/**
 * Output of an action: `output` is text, cut in its middle when it is long (`truncated`); `exit_code` for commands;
 * `resources` names what is not passed through; `data` is an answer that is not text.
 */
export function actionOutput(name: ActionName, call: CallState): JsonObject {
  const text = textOf(call.output) ?? contentText(call);
  const exitCode = name === 'run_command' ? exitCodeOf(call.output) : undefined;
  const resources = (call.content ?? []).filter((item) => item.type === 'resource');
  const structured = text === undefined && isStructured(call.output) ? call.output : undefined;
  const truncated =
    call.output_truncated === true || (call.content ?? []).some((item) => item.type === 'text' && item.truncated);
  return {
    ...(text !== undefined || name === 'run_command' ? { output: text ?? '' } : {}),
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    ...(structured === undefined ? {} : { data: structured }),
    ...(resources.length === 0
      ? {}
      : { resources: resources.map(({ uri, mime_type, size_bytes }) => ({ uri, mime_type, size_bytes })) }),
    ...(truncated ? { truncated: true } : {}),
  };
}

/** The text in an agent's raw output: agents wrap it differently. */
function textOf(output: unknown): string | undefined {
  if (typeof output === 'string') return output;
  if (Array.isArray(output)) return joinTexts(output);
  if (!isObject(output)) return undefined;
  const [stdout, stderr] = [field(output, 'stdout'), field(output, 'stderr')];
  if (typeof stdout === 'string' || typeof stderr === 'string') {
    return [stdout, stderr].filter((part) => typeof part === 'string' && part !== '').join('\n');
  }
  for (const key of ['output', 'aggregated_output', 'content', 'text', 'message', 'error', 'result']) {
    const found = field(output, key);
    if (typeof found === 'string') return found;
    if (Array.isArray(found) && found.length > 0) {
      const joined = joinTexts(found);
      if (joined !== undefined) return joined;
    }
  }
  return undefined;
}

function joinTexts(items: unknown[]): string | undefined {
  const texts = items.flatMap((item) => (typeof item === 'string' ? item : (textField(item, 'text') ?? [])));
  return texts.length === 0 ? undefined : texts.join('\n');
}

/** Some agents fence a command's output as Markdown; the fence is theirs, not the command's. */
function contentText(call: CallState): string | undefined {
  const texts = (call.content ?? []).flatMap((item) => (item.type === 'text' && item.text ? [item.text] : []));
  if (texts.length === 0) return undefined;
  const text = texts.join('\n');
  return /^```[a-z]*\n(.*?)\n?```$/s.exec(text)?.[1] ?? text;
}

const EXIT_KEYS = ['exit_code', 'exitCode', 'exit'];

function exitCodeOf(output: unknown): number | undefined {
  const places = [output, field(output, 'metadata'), field(output, 'result'), ...listField(output, 'contents')];
  for (const place of places) {
    const code = integerField(place, ...EXIT_KEYS);
    if (code !== undefined) return code;
  }
  return undefined;
}

function isStructured(output: unknown): boolean {
  return (
    typeof output === 'number' ||
    typeof output === 'boolean' ||
    (typeof output === 'object' && output !== null && Object.keys(output).length > 0)
  );
}
