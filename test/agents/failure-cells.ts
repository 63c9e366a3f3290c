import { readFileSync, writeFileSync } from 'node:fs';

/** How runs end, as docs/harnesses.md names it. */
const OUTCOMES: readonly (readonly [name: string, message: RegExp, code: string, retryable: boolean])[] = [
  ['credentials', /^The model provider requires valid credentials\./, 'external_authentication_required', false],
  ['rate limit', /^The model provider limits the rate of requests\./, 'rate_limited', true],
  ['no credits', /^The account at the model provider has no credits left\./, 'insufficient_credits', false],
  ['unknown model', /^The model provider does not offer the model\./, 'agent_process_failed', false],
  ['provider error', /^The model provider reported an error\./, 'agent_process_failed', true],
  ['connection', /^The connection to the model provider failed\./, 'agent_process_failed', true],
  [
    'crash',
    /^The agent crashed(?:: its process ended during the turn \(signal SIGKILL\))?\.$/,
    'agent_process_failed',
    true,
  ],
  ['no progress', /^The agent made no progress for /, 'agent_process_failed', true],
];
const TIMED_OUT = /\(AGENT_PROGRESS_TIMEOUT\)/;

export interface EndedRun {
  readonly state: string;
  readonly status_message?: {
    readonly message: string;
    readonly error_code?: string;
    readonly retryable?: boolean;
    readonly detail?: string;
  };
}

/** @param waiting the messages that the run has shown while its agent made no progress. */
export function cellOf({ state, status_message: status }: EndedRun, waiting: readonly string[]): string {
  if (state !== 'FAILED') return state;
  const { message = '', error_code: code, retryable } = status ?? {};
  const [name] =
    OUTCOMES.find(([, text, ...facts]) => text.test(message) && facts[0] === code && facts[1] === retryable) ?? [];
  if (name === undefined) return `${message} ${code} ${retryable}`;
  const ending = name !== 'no progress' && TIMED_OUT.test(message) ? ', at the timeout' : '';
  return `${name}${ending}${waitingOf(waiting)}`;
}

function waitingOf(messages: readonly string[]): string {
  if (messages.some((message) => message.includes('next attempt in '))) return ' (waits: reason, time)';
  if (messages.some((message) => !message.includes('has reported nothing for '))) return ' (waits: reason)';
  return messages.length > 0 ? ' (waits: silent)' : '';
}

const DOCUMENT = new URL('../../docs/harnesses.md', import.meta.url);
const TABLE = /(<!-- failures: measured by npm run test:agents -->\n)([\s\S]*?)(<!-- end of failures -->)/;

/** The cells of one failure, by harness. */
type Row = Readonly<Record<string, string>>;

/** By failure and harness, from the table in docs/harnesses.md. */
export function documentedCells(): Readonly<Record<string, Row>> {
  const [, , table = ''] = TABLE.exec(readFileSync(DOCUMENT, 'utf8')) ?? [];
  const [head = [], , ...rows] = table
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', '')),
    );
  const entries = rows.map(([failure = '', ...cells]) => [
    failure,
    Object.fromEntries(cells.map((cell, at) => [head[at + 1] ?? '', cell])),
  ]);
  return Object.fromEntries(entries) as Record<string, Row>;
}

/** Replaces the table by what was measured. */
export function writeCells(
  cells: readonly (readonly [failure: string, row: Row])[],
  harnesses: readonly string[],
): void {
  const row = (texts: readonly string[]): string => `| ${texts.join(' | ')} |`;
  const lines = [
    row(['failure', ...harnesses.map((id) => `\`${id}\``)]),
    row(['---', ...harnesses.map(() => '---')]),
    ...cells.map(([failure, byHarness]) => row([failure, ...harnesses.map((id) => byHarness[id] ?? 'not tried')])),
  ];
  const document = readFileSync(DOCUMENT, 'utf8');
  writeFileSync(
    DOCUMENT,
    document.replace(TABLE, (_all, start: string, _old, end: string) => `${start}\n${lines.join('\n')}\n\n${end}`),
  );
}
