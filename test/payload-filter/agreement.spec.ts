import { expect, it } from 'vitest';
import { evaluatePayloadFilter } from '../../libs/domain/automations/src/domain/payload-filter/evaluate.js';
import { parsePayloadFilter } from '../../libs/domain/automations/src/domain/payload-filter/parse.js';
import { Chance } from '#testing';
import { anyPayload, filterFor } from './generate.js';
import { referenceMatches } from './reference.js';
import { isLong } from '../support/long-tests.js';

const PAIRS = isLong ? 1_000_000 : 20_000;
/** Of a reason: one line of printable text that ends like a sentence. */
const REASON = /^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]{5,499}\.$/u;
/** Every way not to match, and both to match: the pairs must have come to all of them. */
const WAYS = [
  'There is no filter.',
  'The clause matches.',
  'clauses match.',
  'and has to be an object.',
  'and has to hold an object.',
  'is missing, and has to be an object',
  'is missing, and has to be one of',
  'is missing, and has to be there',
  'and must not be there',
  '`not_in` rules out',
  'which is not',
  'which is not one of',
  'which holds no',
  'which holds none of',
  'None of the 2 objects in the body matches: in the first, `[',
  'The body is',
  '__proto__',
  'constructor',
];

it(`${PAIRS} random pairs of filter and payload are judged as the reference judges them`, { timeout: 300_000 }, () => {
  const first = Math.floor(Math.random() * 2 ** 31);
  const unseen = new Set(WAYS);
  let matches = 0;
  let refused = 0;
  for (let pair = 0, seed = first; pair < PAIRS; seed += 1) {
    const chance = new Chance(seed);
    const payload = anyPayload(chance);
    const raw = filterFor(chance, payload);
    const parsed = parsePayloadFilter(raw);
    if (parsed.kind === 'invalid') {
      refused += 1;
      continue;
    }
    pair += 1;
    const { matched, reason } = evaluatePayloadFilter(parsed.filter, payload);
    const reported = (): string => `seed ${seed}: filter ${JSON.stringify(raw)}, payload ${JSON.stringify(payload)}`;
    // Not an `expect` each: they take longer than all the rest.
    if (matched !== referenceMatches(raw, payload)) expect.fail(`${reported()}: ${reason}`);
    if (!REASON.test(reason)) expect.fail(`${reported()}: ${JSON.stringify(reason)}`);
    if (pair % 16 === 0) {
      const again = parsePayloadFilter(backwards(raw));
      const other = again.kind === 'valid' ? evaluatePayloadFilter(again.filter, payload) : again.issues;
      expect(other, reported()).toEqual({ matched, reason });
    }
    if (matched) matches += 1;
    for (const way of unseen) if (reason.includes(way)) unseen.delete(way);
  }
  const share = matches / PAIRS;
  console.info(
    `${PAIRS} pairs from seed ${first}: ${(share * 100).toFixed(1)} % match, ${refused} filters were refused`,
  );
  expect(share).toBeGreaterThan(0.3);
  expect(share).toBeLessThan(0.7);
  expect(refused / PAIRS).toBeLessThan(0.3);
  expect([...unseen]).toEqual([]);
});

/** The same filter with its keys in the opposite order: as a database may give it back. */
function backwards(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, inner]) => [key, backwards(inner)]));
}
