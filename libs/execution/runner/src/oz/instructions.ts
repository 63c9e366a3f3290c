import { PULL_REQUEST_STATUSES } from '#execution/runner-protocol';
import { parseJson } from '#platform/kernel';
import { TOOL_SERVER } from '../tools/tool-connection.js';
import { isPullRequestStatus, type ListedFile, type ListedReference } from '../artifacts/artifact-list.js';

/** An instruction for the built-in agent; `docs/builtin-agent.md` documents them. */
export type Instruction =
  | { readonly type: 'command'; readonly script: string }
  | { readonly type: 'write' | 'append'; readonly path: string; readonly text: string }
  | { readonly type: 'replace'; readonly path: string; readonly oldText: string; readonly newText: string }
  | { readonly type: 'delete' | 'read'; readonly path: string }
  | { readonly type: 'search'; readonly pattern: string; readonly path: string }
  | { readonly type: 'artifact'; readonly artifact: ListedFile | ListedReference | WrittenPlan }
  | {
      readonly type: 'tool';
      readonly server: string;
      readonly name: string;
      readonly input: Readonly<Record<string, unknown>>;
    }
  | { readonly type: 'plan'; readonly entries: readonly string[] }
  | { readonly type: 'think'; readonly text: string }
  | { readonly type: 'ask'; readonly title: string }
  | { readonly type: 'fail' | 'refuse'; readonly message: string };

export interface WrittenPlan {
  readonly artifact_type: 'PLAN';
  readonly text: string;
  readonly title?: string | undefined;
}

export interface ParsedPrompt {
  readonly instructions: readonly Instruction[];
  readonly problems: readonly string[];
  /** Languages of fenced blocks that are not instructions, such as `python`. */
  readonly ignored: readonly string[];
}

interface Block {
  readonly info: string;
  readonly body: string;
  readonly isClosed: boolean;
}

/** Finds the instructions in a prompt: its fenced blocks, by the first word of their info string. Everything else is text. */
export function parsePrompt(prompt: string): ParsedPrompt {
  const instructions: Instruction[] = [];
  const problems: string[] = [];
  const ignored: string[] = [];
  for (const block of fencedBlocks(prompt)) {
    const result = toInstruction(block);
    if (result === null) ignored.push(/^\S*/.exec(block.info)?.[0] ?? '');
    else if (typeof result === 'string') problems.push(result);
    else instructions.push(result);
  }
  return { instructions, problems, ignored };
}

function fencedBlocks(prompt: string): Block[] {
  const blocks: Block[] = [];
  let open: { fence: string; indent: number; info: string; lines: string[] } | null = null;
  for (const line of prompt.split(/\r?\n/)) {
    if (open === null) {
      const match = /^( {0,3})(`{3,}|~{3,})[ \t]*(.*)$/s.exec(line);
      const [, indent = '', fence = '', info = ''] = match ?? [];
      // Backticks behind backticks are inline code, not a fence.
      if (match && !(fence.startsWith('`') && info.includes('`')))
        open = { fence, indent: indent.length, info: info.trim(), lines: [] };
      continue;
    }
    const closing: string | undefined = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(line)?.[1];
    if (closing !== undefined && closing.startsWith(open.fence)) {
      blocks.push({ info: open.info, body: open.lines.join('\n'), isClosed: true });
      open = null;
    } else {
      open.lines.push(line.replace(new RegExp(`^ {0,${open.indent}}`), ''));
    }
  }
  if (open !== null) blocks.push({ info: open.info, body: open.lines.join('\n'), isClosed: false });
  return blocks;
}

type Attributes = Readonly<Record<string, string>>;

/** null: not an instruction. A string: the problem. */
function toInstruction({ info, body, isClosed }: Block): Instruction | string | null {
  const [, word = '', rest = ''] = /^(\S*)\s*(.*)$/s.exec(info) ?? [];
  const build = Object.hasOwn(BUILDERS, word) ? BUILDERS[word] : undefined;
  if (!build) return null;
  if (!isClosed) return `the \`${word}\` block at the end is not closed`;
  return build({ word, rest, attributes: readAttributes(rest), body });
}

type Source = Readonly<Record<'word' | 'rest' | 'body', string>> & { readonly attributes: Attributes };
type Builder = (source: Source) => Instruction | string;

const command: Builder = ({ word, body }) =>
  body.trim() === '' ? `the \`${word}\` block is empty` : { type: 'command', script: body };

const withPath =
  (build: (path: string, source: Source) => Instruction | string): Builder =>
  (source) => {
    const path = source.attributes['path'];
    return path === undefined || path === ''
      ? `the \`${source.word}\` block has no path (\`${source.word} path=FILE\`)`
      : build(path, source);
  };

const BUILDERS: Readonly<Record<string, Builder>> = {
  sh: command,
  bash: command,
  shell: command,
  write: withPath((path, { body }) => ({ type: 'write', path, text: fileText(body) })),
  append: withPath((path, { body }) => ({ type: 'append', path, text: fileText(body) })),
  replace: withPath((path, { body }) => {
    const lines = body.trimEnd().split('\n');
    const marks = lines.flatMap((line, index) => (index > 0 && line.startsWith('=======') ? [index] : []));
    // The first line after the mark at the beginning belongs to the old lines if it can.
    const middle = marks.find((index) => index > 1) ?? marks[0];
    if (!lines[0]?.startsWith('<<<<<<<') || middle === undefined || !lines.at(-1)?.startsWith('>>>>>>>'))
      return 'the `replace` block is not of the form `<<<<<<<`, old lines, `=======`, new lines, `>>>>>>>`';
    const textOf = (part: readonly string[]): string => part.map((line) => `${line}\n`).join('');
    const [oldText, newText] = [textOf(lines.slice(1, middle)), textOf(lines.slice(middle + 1, -1))];
    return oldText === '' ? 'the `replace` block has no old lines' : { type: 'replace', path, oldText, newText };
  }),
  delete: withPath((path) => ({ type: 'delete', path })),
  read: withPath((path) => ({ type: 'read', path })),
  search: ({ attributes }) => {
    const pattern = attributes['pattern'];
    return pattern === undefined || pattern === ''
      ? 'the `search` block has no pattern (`search pattern=TEXT`)'
      : { type: 'search', pattern, path: attributes['path'] ?? '.' };
  },
  artifact: ({ attributes, body }) => {
    const artifact = readArtifact(attributes, body);
    return typeof artifact === 'string' ? artifact : { type: 'artifact', artifact };
  },
  tool: ({ attributes, rest, body }) => {
    const name = attributes['name'] ?? rest;
    const input = body.trim() === '' ? {} : jsonObject(body);
    if (name === '') return 'the `tool` block has no name (`tool name=NAME`)';
    if (input === null) return 'the `tool` block needs a JSON object as its text, or nothing';
    return { type: 'tool', server: attributes['server'] ?? TOOL_SERVER, name, input };
  },
  plan: ({ body }) => {
    const entries = body
      .split('\n')
      .map((line) => line.replace(/^\s*(?:[-*]|\d+[.)])\s+/, '').trim())
      .filter((line) => line !== '');
    return entries.length === 0 ? 'the `plan` block is empty' : { type: 'plan', entries };
  },
  think: ({ body }) => (body.trim() === '' ? 'the `think` block is empty' : { type: 'think', text: body }),
  ask: ({ attributes, rest, body }) => {
    const title = attributes['title'] ?? (rest || body.trim());
    return title === '' ? 'the `ask` block has no title (`ask title=TEXT`)' : { type: 'ask', title };
  },
  fail: ({ attributes, rest, body }) => ({ type: 'fail', message: attributes['message'] ?? (rest || body.trim()) }),
  refuse: ({ attributes, rest, body }) => ({ type: 'refuse', message: attributes['message'] ?? (rest || body.trim()) }),
};

/** A string is the problem. */
function readArtifact(attributes: Attributes, body: string): ListedFile | ListedReference | WrittenPlan | string {
  const { type = '', path = '', url = '', branch = '', status, reference_type: referenceType = '' } = attributes;
  const lacks = (what: string): string => `the \`artifact\` block of type ${type} needs ${what}`;
  const { title, description } = attributes;
  switch (type) {
    case 'FILE':
    case 'SCREENSHOT':
      if (path === '') return lacks('`path=FILE`');
      return { artifact_type: type, path, title, description };
    case 'PLAN':
      if (path !== '') return { artifact_type: type, path, title };
      return body.trim() === ''
        ? lacks('its text, or `path=FILE`')
        : { artifact_type: type, text: fileText(body), title };
    case 'PULL_REQUEST':
      if (url === '' || branch === '') return lacks('`url=URL branch=NAME`');
      if (status !== undefined && !isPullRequestStatus(status))
        return lacks(`a \`status\` out of ${PULL_REQUEST_STATUSES.join(', ')}, or none`);
      return { artifact_type: type, url, branch, ...(status !== undefined && { status }) };
    case 'EXTERNAL_REFERENCE': {
      if (url === '' || referenceType === '') return lacks('`url=URL reference_type=NAME`');
      const metadata = body.trim() === '' ? undefined : jsonObject(body);
      if (metadata === null) return lacks('a JSON object as its text, or none');
      return { artifact_type: type, url, reference_type: referenceType, title, metadata };
    }
    default:
      return 'the `artifact` block needs `type=` and one of FILE, SCREENSHOT, PLAN, PULL_REQUEST, EXTERNAL_REFERENCE';
  }
}

function jsonObject(text: string): Record<string, unknown> | null {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
}

/** A file ends with a line break, unless it is empty. */
function fileText(body: string): string {
  return body === '' || body.endsWith('\n') ? body : `${body}\n`;
}

/** `key=value` pairs; a value is quoted with `"`, or ends before the next ` key=` or at the end of the line. */
function readAttributes(text: string): Attributes {
  const found: Record<string, string> = {};
  const pair = /([a-z_]+)=(?:"([^"]*)"|(\S*(?:\s+(?![a-z_]+=)\S+)*))(?=\s+[a-z_]+=|\s*$)/gy;
  for (let at = 0; at < text.length;) {
    pair.lastIndex = at + (/^\s*/.exec(text.slice(at))?.[0].length ?? 0);
    const match = pair.exec(text);
    if (!match) break;
    const [, key = '', quoted, bare = ''] = match;
    found[key] = quoted ?? bare.trim();
    at = pair.lastIndex;
  }
  return found;
}
