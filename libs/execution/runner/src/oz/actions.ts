import { basename, relative } from 'node:path';
import type { ToolCallContent, ToolKind } from '@agentclientprotocol/sdk';
import { errorText } from '../runner-log.js';
import { submit, FileProblem, insidePath, readText, removeFile, searchFiles, writeText } from './files.js';
import type { Instruction } from './instructions.js';
import { artifactName, commandTitle } from './report.js';
import { runShell } from './shell.js';

/** Instructions that show as tool calls. */
export type Action = Extract<
  Instruction,
  { type: 'command' | 'write' | 'append' | 'replace' | 'delete' | 'read' | 'search' | 'artifact' }
>;

export function isAction(instruction: Instruction): instruction is Action {
  return ['command', 'write', 'append', 'replace', 'delete', 'read', 'search', 'artifact'].includes(instruction.type);
}

/** An action as shown before it is executed. */
export interface ActionCall {
  readonly name: string;
  readonly title: string;
  readonly kind: ToolKind;
  readonly rawInput: Readonly<Record<string, unknown>>;
  readonly path?: string;
}

export function describeAction(action: Action, cwd: string): ActionCall {
  switch (action.type) {
    case 'command':
      return {
        name: 'shell',
        title: commandTitle(action.script),
        kind: 'execute',
        rawInput: { command: action.script, cwd },
      };
    case 'artifact': {
      const { artifact_type: type } = action.artifact;
      const path = 'path' in action.artifact ? { path: action.artifact.path } : {};
      return {
        name: 'submit_artifact',
        title: `Submit artifact: ${artifactName(action.artifact)}`,
        kind: 'other',
        rawInput: { type, ...path, ...('url' in action.artifact ? { url: action.artifact.url } : {}) },
        ...path,
      };
    }
    case 'search':
      return {
        name: 'search',
        title: `Search for "${action.pattern}"`,
        kind: 'search',
        rawInput: { pattern: action.pattern, path: action.path },
      };
    case 'read':
      return basename(action.path) === 'SKILL.md'
        ? { ...fileCall('read_skill', 'Read the skill', 'read', action.path), rawInput: { skill_path: action.path } }
        : fileCall('read_file', 'Read', 'read', action.path);
    case 'delete':
      return fileCall('delete_file', 'Delete', 'delete', action.path);
    case 'write':
      return fileCall('write_file', 'Write', 'edit', action.path);
    case 'append':
      return fileCall('append_file', 'Append to', 'edit', action.path);
    case 'replace':
      return fileCall('replace_file', 'Edit', 'edit', action.path);
  }
}

const fileCall = (name: string, verb: string, kind: ToolKind, path: string): ActionCall => ({
  name,
  title: `${verb} ${path}`,
  kind,
  rawInput: { path },
  path,
});

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
): Promise<ActionResult> {
  try {
    return action.type === 'command'
      ? await executeCommand(action.script, cwd, onOutput, signal)
      : await executeFileAction(action, cwd, signal);
  } catch (error) {
    const message = error instanceof FileProblem ? error.message : errorText(error);
    return { succeeded: false, content: [textContent(message)], rawOutput: { error: message }, note: message };
  }
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
  action: Exclude<Action, { type: 'command' }>,
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
      await removeFile(path);
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
