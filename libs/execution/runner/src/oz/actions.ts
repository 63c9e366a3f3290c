import { rm } from 'node:fs/promises';
import { basename, relative } from 'node:path';
import type { McpServer, ToolCallContent, ToolKind } from '@agentclientprotocol/sdk';
import { errorText } from '../runner-log.js';
import { submit, FileProblem, insidePath, readText, searchFiles, writeText } from './files.js';
import type { Instruction } from './instructions.js';
import { callTool } from './mcp-tools.js';
import { artifactName, commandTitle } from './report.js';
import { runShell } from './shell.js';

const ACTIONS = ['command', 'write', 'append', 'replace', 'delete', 'read', 'search', 'artifact', 'tool'] as const;
export type Action = Extract<Instruction, { type: (typeof ACTIONS)[number] }>;

export function isAction(instruction: Instruction): instruction is Action {
  return (ACTIONS as readonly string[]).includes(instruction.type);
}

export interface ActionCall {
  readonly name: string;
  readonly title: string;
  readonly kind: ToolKind;
  readonly rawInput: Readonly<Record<string, unknown>>;
  readonly path?: string | undefined;
}

export function describeAction(action: Action, cwd: string): ActionCall {
  switch (action.type) {
    case 'command': {
      const rawInput = { command: action.script, cwd };
      return { name: 'shell', title: commandTitle(action.script), kind: 'execute', rawInput };
    }
    case 'artifact': {
      const { artifact_type: type } = action.artifact;
      const path = 'path' in action.artifact ? action.artifact.path : undefined;
      const url = 'url' in action.artifact ? action.artifact.url : undefined;
      const title = `Submit artifact: ${artifactName(action.artifact)}`;
      return { name: 'submit_artifact', title, kind: 'other', rawInput: { type, path, url }, path };
    }
    case 'tool': {
      const { server, name, input } = action;
      return { name: `mcp__${server}__${name}`, title: `Use the tool ${name}`, kind: 'other', rawInput: input };
    }
    case 'search': {
      const { pattern, path } = action;
      return { name: 'search', title: `Search for "${pattern}"`, kind: 'search', rawInput: { pattern, path } };
    }
    default: {
      const { path } = action;
      if (action.type === 'read' && basename(path) === 'SKILL.md') {
        const rawInput = { skill_path: path };
        return { name: 'read_skill', title: `Read the skill ${path}`, kind: 'read', rawInput, path };
      }
      const [name, verb, kind] = FILE_ACTIONS[action.type];
      return { name, title: `${verb} ${path}`, kind, rawInput: { path }, path };
    }
  }
}

/** Name, verb and kind of the actions on one file. */
const FILE_ACTIONS = {
  read: ['read_file', 'Read', 'read'],
  delete: ['delete_file', 'Delete', 'delete'],
  write: ['write_file', 'Write', 'edit'],
  append: ['append_file', 'Append to', 'edit'],
  replace: ['replace_file', 'Edit', 'edit'],
} as const;

export interface ActionResult {
  readonly succeeded: boolean;
  readonly content: ToolCallContent[];
  readonly rawOutput: Readonly<Record<string, unknown>>;
  readonly note: string;
  readonly wasCancelled?: boolean;
}

/** Executes one action inside `cwd`. Does not reject: a failure is a result. */
export async function executeAction(
  action: Action,
  cwd: string,
  onOutput: (output: string) => void,
  signal: AbortSignal,
  servers: readonly McpServer[],
): Promise<ActionResult> {
  try {
    if (action.type === 'tool') return await useTool(action, servers, signal);
    return action.type === 'command'
      ? await executeCommand(action.script, cwd, onOutput, signal)
      : await executeFileAction(action, cwd, signal);
  } catch (error) {
    const message = errorText(error);
    return { succeeded: false, content: [textContent(message)], rawOutput: { error: message }, note: message };
  }
}

async function useTool(
  action: Extract<Action, { type: 'tool' }>,
  servers: readonly McpServer[],
  signal: AbortSignal,
): Promise<ActionResult> {
  const { succeeded, text } = await callTool(servers, action, signal);
  return { succeeded, content: [textContent(text)], rawOutput: { text }, note: text };
}

async function executeCommand(
  script: string,
  cwd: string,
  onOutput: (output: string) => void,
  signal: AbortSignal,
): Promise<ActionResult> {
  const { exitCode, output, durationMs, wasCancelled } = await runShell(script, cwd, onOutput, signal);
  return {
    succeeded: exitCode === 0,
    content: [textContent(output)],
    rawOutput: { exit_code: exitCode, output, duration_ms: durationMs, ...(wasCancelled ? { cancelled: true } : {}) },
    note: wasCancelled ? 'cancelled' : `exit code ${exitCode}`,
    wasCancelled,
  };
}

async function executeFileAction(
  action: Exclude<Action, { type: 'command' | 'tool' }>,
  cwd: string,
  signal: AbortSignal,
): Promise<ActionResult> {
  if (action.type === 'artifact') {
    await submit(action.artifact, cwd);
    return success('', [textContent('It is uploaded at the end of the turn.')], { listed: true });
  }
  const path = await insidePath(cwd, action.path);
  if (action.type === 'search') {
    const matches = await searchFiles(cwd, path, action.pattern, signal);
    const shown = matches.map(({ path: file, line, text }) => `${file}:${line}: ${text}`).join('\n');
    return success(
      `${matches.length} ${matches.length === 1 ? 'match' : 'matches'}`,
      [textContent(shown || 'no match')],
      { matches: matches.length },
    );
  }
  const before = await readText(path);
  switch (action.type) {
    case 'write':
      return change(path, cwd, before, action.text);
    case 'append':
      return change(path, cwd, before, `${before ?? ''}${action.text}`);
    case 'replace':
      return change(path, cwd, before, replaceOnce(existing(before, action.path), action));
    case 'read': {
      const text = existing(before, action.path);
      return success(`${Buffer.byteLength(text)} bytes`, [textContent(text)], { bytes: Buffer.byteLength(text) });
    }
    case 'delete': {
      const text = existing(before, action.path);
      await rm(path);
      return success('', [{ type: 'diff', path: relative(cwd, path), oldText: text, newText: '' }], { deleted: true });
    }
  }
}

function existing(text: string | null, path: string): string {
  if (text === null) throw new FileProblem(`${path} does not exist`);
  return text;
}

function replaceOnce(text: string, { path, oldText, newText }: Extract<Action, { type: 'replace' }>): string {
  const places = text.split(oldText).length - 1;
  if (places !== 1)
    throw new FileProblem(`the old lines occur ${places} times in ${path}; exactly one occurrence is required`);
  // A function, because a replacement string would read `$&` in the new text.
  return text.replace(oldText, () => newText);
}

async function change(path: string, cwd: string, before: string | null, after: string): Promise<ActionResult> {
  await writeText(path, after);
  const note = before === null ? 'created' : before === after ? 'unchanged' : 'changed';
  return success(note, [{ type: 'diff', path: relative(cwd, path), oldText: before, newText: after }], {
    bytes: Buffer.byteLength(after),
  });
}

const success = (note: string, content: ToolCallContent[], rawOutput: Record<string, unknown>): ActionResult => ({
  succeeded: true,
  content,
  rawOutput,
  note,
});

export const textContent = (text: string): ToolCallContent => ({ type: 'content', content: { type: 'text', text } });
