import { RequestError } from '@agentclientprotocol/sdk';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { explainRequestError, failureOfTurn, TurnOutput } from '../../agent-failure.js';
import { AcpNormalizer } from '../normalizer.js';
import { retryInLog, retryInNotification, retryInUpdate } from '../../progress-watch.js';

/** What real agents sent when their model failed; addresses and ids are replaced, and updates that say nothing left out. */
interface Recording {
  readonly harness: string;
  readonly fault: string;
  readonly notifications?: readonly { readonly method: string; readonly params: unknown }[];
  readonly updates?: readonly unknown[];
  /** Lines on standard error. */
  readonly log?: readonly string[];
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
  readonly response?: { readonly stopReason: string; readonly _meta?: unknown };
  readonly waiting?: readonly string[];
  readonly expected: readonly [code: string, retryable: boolean, message: string, detail?: string];
}

const recordings = readFileSync(new URL('failures.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Recording);

it.each(recordings)(
  '$harness, $fault: fails the run with a code and a clean sentence',
  ({ harness, notifications = [], updates = [], log = [], error, response, waiting = [], expected }) => {
    const [code, retryable, message, detail] = expected;
    const output = new TurnOutput();
    output.start();
    const normalizer = new AcpNormalizer(() => 'minted');
    normalizer.startTurn();
    for (const update of updates) output.add(update);
    const retries = [
      ...notifications.map(({ method, params }) => retryInNotification(method, params)),
      ...updates.map(retryInUpdate),
      ...log.map((line) => retryInLog(harness, line)),
    ];
    expect(retries.flatMap((retry) => retry?.message ?? [])).toEqual(waiting);
    const failure = error
      ? explainRequestError('the turn', new RequestError(error.code, error.message, error.data), () => '')
      : failureOfTurn(response ?? { stopReason: '' }, output, normalizer.turnUsage(response).length > 0);
    expect(failure?.message).toBe(message);
    expect(failure?.report).toMatchObject({ error_code: code, retryable });
    if (detail !== undefined) expect(failure?.report.detail).toBe(detail);
  },
);

const failureFor = (details: string): unknown =>
  explainRequestError('the turn', new RequestError(-32603, 'Internal error', { details }), () => '');

it.each([
  ['Disk quota exceeded (os error 122)'],
  ['EDQUOT: disk quota exceeded, write'],
  ['MCP error -32000: Connection closed'],
  ["MCP server 'jira': 401 Unauthorized"],
  ['remote: Authentication failed for https://forge.example/x'],
  ["fatal: Authentication failed for 'https://forge.example/x.git/'"],
  ['Tool execution timed out after 120 s'],
  ['tool "get_quota" has an invalid schema'],
  ['could not read docs/credentials.md: permission denied'],
  ['open ./docs/credentials.md: permission denied'],
  ['ENOENT: no such file, connection.json'],
  ['listen EADDRINUSE agent.socket'],
  ['HTTP 400 context_length_exceeded: authentication token length'],
  ['The value of "socket_write" is not a connection'],
  ['The command was terminated'],
  ['The build timed out'],
])('shows the words of an agent about something other than its model: %s', (words) => {
  const ended = words.endsWith('.') ? words : `${words}.`;
  expect(failureFor(words)).toMatchObject({
    message: `The agent could not finish the turn: ${ended}`,
    report: { error_code: 'agent_process_failed', retryable: false },
  });
});

it.each([
  ['error sending request: Connection refused (os error 111)', 'The connection to the model provider failed.'],
  ['Connection error.', 'The connection to the model provider failed.'],
  ['Headers Timeout Error', 'The connection to the model provider failed.'],
  ['Request timed out.', 'The connection to the model provider failed.'],
  ['TypeError: terminated', 'The connection to the model provider failed.'],
  ['socket hang up', 'The connection to the model provider failed.'],
  ['Unable to connect. Is the computer able to access the url?', 'The connection to the model provider failed.'],
  ['invalid x-api-key', 'The model provider requires valid credentials.'],
  ['Could not load credentials from any providers', 'The model provider requires valid credentials.'],
  ['authentication_error: invalid bearer token', 'The model provider requires valid credentials.'],
  ['Resource has been exhausted: quota exceeded for requests', 'The model provider limits the rate of requests.'],
  ['You exceeded your current quota.', 'The model provider limits the rate of requests.'],
  ['Overloaded', 'The model provider limits the rate of requests.'],
])('recognises the words of clients of model providers: %s', (words, message) => {
  expect(failureFor(words)).toMatchObject({ message });
});

const messageOfTurn = (text: string): string | undefined => {
  const output = new TurnOutput();
  output.start();
  output.add({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  return failureOfTurn({ stopReason: 'end_turn' }, output, false)?.message;
};

it.each([
  'The log says that the rate limit was exceeded.',
  'Here is what the log means:\n\nAPI Error: 429 rate limit. This says that your key is limited.',
  'Here is what the log says:\n\nAPI Error: 429 rate limit',
  'You asked about this message:\nMissing environment variable: DATABASE_URL\nSet it in .env.',
  'The README begins so:\nstream disconnected before completion is a known error.',
  'The log has one line.\n\nAPI Error: 429 rate limit\n\nWait an hour.',
  'The log has two lines.\n\nAPI Error: 429 rate limit\nThe second line.',
  `${'An answer. '.repeat(400)}\n\nAPI Error: 429 rate limit`,
])('does not take an answer about an error for an error: %#', (text) => {
  expect(messageOfTurn(text)).toBeUndefined();
});

it.each([
  'API Error: 429 rate limit. Try again later.',
  'Warning: one.\nWarning: two.\n\nAPI Error: 429 rate limit. Try again later.',
  'I will read the file first.\n\nexceeded retry limit, last status: 429 Too Many Requests\n\n',
])('recognises an error that an agent says: %#', (text) => {
  expect(messageOfTurn(text)).toBe('The model provider limits the rate of requests.');
});
