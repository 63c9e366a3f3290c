import { createHash } from 'node:crypto';
import { isAbsolute, normalize } from 'node:path';
import { parseUrl, shellWord } from '#platform/kernel';
import type { Assignment, PermissionSubject } from '#execution/runner-protocol';
import { fields, items, text } from './fields.js';

export type Decision = 'allow' | 'deny';
/** `allow_always`: the agent may also remember it, where it has such an option. */
export type Answer = Decision | 'allow_always';

/** Subject of a permission request, as far as the agent reports it. */
export interface PermissionFacts {
  readonly toolName?: string | undefined;
  readonly toolKind?: string | undefined;
  readonly commandLine?: string | undefined;
  readonly directory?: string | undefined;
  /** What the input of a command contains beside it that can change what it does. */
  readonly otherInput?: Readonly<Record<string, unknown>> | undefined;
  readonly address?: string | undefined;
}

export type PermissionRules = Pick<
  Assignment,
  'permission_policy' | 'permission_allow_list' | 'permission_rules' | 'interactive'
>;

export function decideByPolicy(rules: PermissionRules, facts: PermissionFacts): Decision | 'ask' {
  switch (rules.permission_policy) {
    case 'allow':
    case 'deny':
    case 'ask':
      return rules.permission_policy;
    case 'allow_list':
      if (rules.permission_allow_list.some((entry) => matchesEntry(entry, facts))) return 'allow';
      return rules.interactive ? 'ask' : 'deny';
  }
}

const COMMAND_ENTRY = 'command:';
/** Operators with which one command line runs several commands or writes to a file. */
const SHELL_OPERATORS = /[;&|<>`\n\r]|\$\(/;

/**
 * An entry matches when it is exactly the tool's name (`Bash`), or exactly its kind (`read`), or, as `command:<start>`,
 * when the command line starts with it: the next character must be a space or the end, and what follows may hold no
 * shell operator, so that `command:git status` does not let `git status; rm -rf .` pass.
 */
export function matchesEntry(entry: string, { toolName, toolKind, commandLine }: PermissionFacts): boolean {
  if (!entry.startsWith(COMMAND_ENTRY)) return entry !== '' && (entry === toolName || entry === toolKind);
  const start = entry.slice(COMMAND_ENTRY.length).trim();
  const line = commandLine?.trim();
  if (start === '' || line === undefined || !line.startsWith(start)) return false;
  const rest = line.slice(start.length);
  return (rest === '' || /^\s/.test(rest)) && !SHELL_OPERATORS.test(rest);
}

const COMMANDS = ['command', 'cmd'];
const DIRECTORIES = ['cwd', 'workdir', 'directory'];
/** Fields that shells report with a command, and that do not change what it does. */
const DESCRIPTIVE = [
  ...COMMANDS,
  ...DIRECTORIES,
  ...['description', 'timeout', 'timeout_ms', 'reason', 'justification', 'parsed_cmd', 'call_id', 'turn_id'],
];

/** @param known what updates before the request have reported of its call: agents need not repeat it. */
export function permissionFacts(
  toolCall: unknown,
  known: { readonly name?: string; readonly kind?: string; readonly input?: unknown } = {},
): PermissionFacts {
  const call = fields(toolCall);
  const input = fields(call['rawInput'] ?? known.input);
  const toolKind = text(call['kind']) ?? known.kind;
  const ignored = toolKind === undefined || toolKind === 'execute' ? DESCRIPTIVE : COMMANDS;
  const others = Object.entries(input).filter(([name, value]) => !ignored.includes(name) && value !== undefined);
  return {
    toolName: toolNameOf(call) ?? known.name,
    toolKind,
    commandLine: commandLine(input),
    directory: DIRECTORIES.map((name) => text(input[name])).find((path) => path !== undefined),
    address: text(input['url']),
    otherInput: others.length === 0 ? undefined : Object.fromEntries(others.sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

export function toolNameOf(call: Readonly<Record<string, unknown>>): string | undefined {
  const meta = fields(call['_meta']);
  return text(call['name']) ?? text(fields(meta['claudeCode'])['toolName']) ?? text(meta['toolName']);
}

export function commandLine(input: Readonly<Record<string, unknown>>): string | undefined {
  const command = input['command'] ?? input['cmd'];
  if (typeof command === 'string') return command;
  const words = items(command);
  // Lists of words that differ make lines that differ.
  return words.length > 0 ? words.map((word) => shellWord(String(word))).join(' ') : undefined;
}

const WANTED: Readonly<Record<Answer, readonly string[]>> = {
  allow: ['allow_once', 'allow_always'],
  allow_always: ['allow_always', 'allow_once'],
  deny: ['reject_once', 'reject_always'],
};

/** The option for the answer, once unless the answer is for always; null when the agent offers none. */
export function pickOption(options: readonly { optionId: string; kind: string }[], answer: Answer): string | null {
  const offered = WANTED[answer].flatMap((kind) => options.filter((option) => option.kind === kind));
  return offered[0]?.optionId ?? null;
}

/** Longer values are cut and followed by a hash of the whole, so that different values stay different. */
const MAX_VALUE_LENGTH = 1_024;
const KEPT_LENGTH = 256;
const CUT_VALUE = /… \(sha256:[0-9a-f]{64}\)$/;
/** Kinds that describe what happens; `other`, `think` and `switch_mode` may be anything. */
const SPECIFIC_KINDS: readonly string[] = ['read', 'edit', 'delete', 'move', 'search', 'fetch', 'execute'];

/**
 * `redact` removes secret values, which must not leave the runner: commands that differ only in one are the same. A directory in the
 * workspace is relative to it, because the workspace of the next execution is at another path.
 */
export function subjectOf(
  facts: PermissionFacts,
  title: string,
  redact: (text: string) => string,
  workspaceDirectory: string,
): PermissionSubject {
  const { toolName, toolKind, commandLine, directory, address, otherInput } = facts;
  const subject = (type: PermissionSubject['type'], value: string): PermissionSubject => ({
    type,
    value: bounded(redact(value)),
    tool: toolName === undefined || type === 'tool' ? undefined : bounded(redact(toolName)),
    ...(type === 'command' && {
      ...(directory !== undefined && { directory: bounded(redact(shownDirectory(directory, workspaceDirectory))) }),
      ...(otherInput !== undefined && { input_sha256: hashOf(JSON.stringify(otherInput)) }),
    }),
  });
  const command = commandLine?.trim();
  if (command !== undefined && command !== '') return subject('command', command);
  const url = toolKind === 'fetch' ? parseUrl(address ?? '') : null;
  // Most schemes but http have no origin.
  if (url !== null) return subject('address', url.origin === 'null' ? url.href : url.origin);
  // A tool that runs commands without reporting which could run any.
  if (toolKind === 'execute') return subject('title', title);
  if (toolName !== undefined && toolName !== '') return subject('tool', toolName);
  return toolKind !== undefined && SPECIFIC_KINDS.includes(toolKind)
    ? subject('kind', toolKind)
    : subject('title', title);
}

function shownDirectory(directory: string, workspaceDirectory: string): string {
  const path = normalize(directory);
  if (!isAbsolute(path)) return `./${path}`;
  return path.startsWith(`${workspaceDirectory}/`) ? path.slice(workspaceDirectory.length + 1) : path;
}

export function isSameSubject(a: PermissionSubject, b: PermissionSubject): boolean {
  const names = ['type', 'value', 'tool', 'directory', 'input_sha256'] as const;
  return names.every((name) => a[name] === b[name]);
}

const hashOf = (value: string): string => createHash('sha256').update(value).digest('hex');

function bounded(value: string): string {
  // A value that looks like a cut one must not be the same as the one that it looks like.
  if (value.length <= MAX_VALUE_LENGTH && !CUT_VALUE.test(value)) return value;
  return `${value.slice(0, KEPT_LENGTH).replace(/[\ud800-\udbff]$/, '')}… (sha256:${hashOf(value)})`;
}
