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
  ({ notifications = [], updates = [], log = [], error, response, waiting = [], expected }) => {
    const [code, retryable, message, detail] = expected;
    const output = new TurnOutput();
    output.start();
    const normalizer = new AcpNormalizer(() => 'minted');
    normalizer.startTurn();
    for (const update of updates) output.add(update);
    const retries = [
      ...notifications.map(({ method, params }) => retryInNotification(method, params)),
      ...updates.map(retryInUpdate),
      ...log.map(retryInLog),
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
