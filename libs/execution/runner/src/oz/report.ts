import type { PlanEntry } from '@agentclientprotocol/sdk';
import type { Instruction, ParsedPrompt } from './instructions.js';

export interface Outcome {
  readonly instruction: Instruction;
  readonly status: 'done' | 'failed' | 'denied' | 'skipped';
  /** Exit code, reason or number of matches. */
  readonly note?: string | undefined;
}

const EXAMPLE = ['```sh', 'echo hello', '```'].join('\n');

export function helpText({ problems, ignored }: ParsedPrompt): string {
  return [
    'This prompt has no instructions that I can execute. I am the built-in agent: I work without a model and execute fenced blocks, for example:',
    '',
    EXAMPLE,
    '',
    'Other blocks are `write path=FILE`, `append path=FILE`, `replace path=FILE`, `delete path=FILE`, `read path=FILE`, `search pattern=TEXT`, `artifact type=TYPE`, `plan`, `think`, `ask title=TEXT`, `refuse` and `fail`.',
    ...notUnderstood({ problems, ignored }),
  ].join('\n');
}

export function openingText(instructions: readonly Instruction[], turn: number, isContinued: boolean): string {
  const counted = [
    count(instructions, ['command'], 'command', 'commands'),
    count(instructions, ['write', 'append', 'replace', 'delete'], 'file change', 'file changes'),
    count(instructions, ['read', 'search'], 'file lookup', 'file lookups'),
    count(instructions, ['artifact'], 'artifact', 'artifacts'),
  ].filter((text) => text !== '');
  const what = counted.length === 0 ? 'the instructions of the prompt' : counted.join(', ');
  const which = turn === 1 ? '' : ` This is turn ${turn} of this session.`;
  return isContinued
    ? `I continue where I was interrupted: ${what}.${which}`
    : `I am going to execute ${what}.${which}`;
}

export function closingText(
  outcomes: readonly Outcome[],
  { problems, ignored }: Pick<ParsedPrompt, 'problems' | 'ignored'>,
): string {
  const lines = outcomes.flatMap(({ instruction, status, note }) => {
    const what = describe(instruction);
    return what === null ? [] : [`- ${what}: ${[STATUS_WORDS[status], note].filter((part) => part).join(', ')}`];
  });
  const bad = outcomes.filter(({ status }) => status !== 'done').length;
  const head = bad === 0 ? 'Done.' : `Done, but ${bad} of ${lines.length} did not succeed.`;
  return [head, ...lines, ...notUnderstood({ problems, ignored })].join('\n');
}

const STATUS_WORDS = {
  done: 'done',
  failed: 'failed',
  denied: 'denied, so I skipped it',
  skipped: 'skipped',
} as const;

/** null: not mentioned in the report. */
export function describe(instruction: Instruction): string | null {
  switch (instruction.type) {
    case 'command':
      return `command \`${commandTitle(instruction.script)}\``;
    case 'write':
    case 'append':
    case 'replace':
    case 'delete':
    case 'read':
      return `${instruction.type} ${instruction.path}`;
    case 'search':
      return `search for "${instruction.pattern}"`;
    case 'artifact':
      return `artifact ${artifactName(instruction.artifact)}`;
    case 'tool':
      return `tool ${instruction.name}`;
    case 'plan':
    case 'think':
    case 'ask':
    case 'fail':
    case 'refuse':
      return null;
  }
}

export function artifactName(artifact: Extract<Instruction, { type: 'artifact' }>['artifact']): string {
  const rest = 'url' in artifact ? artifact.url : 'path' in artifact ? artifact.path : (artifact.title ?? '');
  return [artifact.artifact_type, rest].filter((part) => part !== undefined && part !== '').join(' ');
}

/** A script's first line that is not blank, with an ellipsis when there are more. */
export function commandTitle(script: string): string {
  const lines = script.split('\n').filter((line) => line.trim() !== '');
  const first = lines[0]?.trim() ?? '';
  const short = first.length > 120 ? `${first.slice(0, 119)}…` : first;
  return lines.length > 1 && !short.endsWith('…') ? `${short} …` : short;
}

function count(instructions: readonly Instruction[], types: readonly string[], one: string, many: string): string {
  const found = instructions.filter(({ type }) => types.includes(type)).length;
  return found === 0 ? '' : `${found} ${found === 1 ? one : many}`;
}

function notUnderstood({ problems, ignored }: Pick<ParsedPrompt, 'problems' | 'ignored'>): string[] {
  const left =
    ignored.length === 0
      ? []
      : [
          `I ignored ${ignored.length} fenced ${ignored.length === 1 ? 'block' : 'blocks'} without an instruction (${[...new Set(ignored.map((name) => name || 'without a name'))].join(', ')}).`,
        ];
  const wrong = problems.map((problem) => `I skipped an invalid instruction: ${problem}.`);
  return left.length + wrong.length === 0 ? [] : ['', ...wrong, ...left];
}

/** A plan whose entries progress with the actions that follow it. */
export class PlanProgress {
  private done = 0;

  /** @param actions how many actions follow. */
  constructor(
    private readonly entries: readonly string[],
    private readonly actions: number,
  ) {}

  advance(): void {
    this.done += 1;
  }

  finish(): void {
    this.done = this.actions;
  }

  view(): PlanEntry[] {
    const completed =
      this.done >= this.actions ? this.entries.length : Math.floor((this.done * this.entries.length) / this.actions);
    return this.entries.map((content, index) => ({
      content,
      priority: 'medium',
      status: index < completed ? 'completed' : index === completed ? 'in_progress' : 'pending',
    }));
  }
}
