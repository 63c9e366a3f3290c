import { filesOf } from './action.js';
import type { ActionName, JsonObject } from './conversation.js';
import type { CallFold } from './fold-state.js';
import { field, isObject, textField, textsField } from './json-fields.js';

interface FileDiff {
  path: string;
  old_text?: string;
  new_text: string;
  truncated?: true;
}

/** What a tool was asked, in the one shape that its action has for every agent. */
export function actionInput(name: ActionName, call: CallFold): JsonObject {
  const input = INPUTS[name](call);
  return call.input_truncated ? { ...input, truncated: true } : input;
}

const INPUTS: Record<ActionName, (call: CallFold) => JsonObject> = {
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

/** Agents put the command of a call into its title too, often in backticks. */
function commandOf(call: CallFold): string {
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

function diffsOf(call: CallFold): FileDiff[] {
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

const titleOf = (call: CallFold): string => call.title ?? call.tool_name ?? '';
