import { describe, expect, it } from 'vitest';
import { evaluatePayloadFilter } from '../../libs/domain/automations/src/domain/payload-filter/evaluate.js';
import type { PayloadFilter } from '../../libs/domain/automations/src/domain/payload-filter/filter.js';
import { parsePayloadFilter } from '../../libs/domain/automations/src/domain/payload-filter/parse.js';
import { counted } from './counted.js';
import { HARD_FILTERS } from './hard-filters.js';
import { LARGEST, SHAPES } from './shapes.js';
import { isLong } from '../support/long-tests.js';

const LIMIT_MS = 10;
/** The machine does other things meanwhile: the best time counts, and of the clock's and the processor's the shorter one. */
const ATTEMPTS = 12;

const FILTERS = Object.entries(HARD_FILTERS).map(([name, raw]): [string, PayloadFilter] => {
  const parsed = parsePayloadFilter(raw);
  if (parsed.kind === 'invalid') throw new Error(`${name}: ${JSON.stringify(parsed.issues)}`);
  return [name, parsed.filter];
});

/** The limit in times of parsing the payload, which a slow processor lengthens in the same way. */
const PARSINGS = 4;

/** Milliseconds. Each time with an object that nothing has looked at yet. A time below the limit needs no better one. */
const bestTime = (filter: PayloadFilter, text: string, limit: number): number =>
  bestOf(
    () => JSON.parse(text) as unknown,
    (payload) => evaluatePayloadFilter(filter, payload),
    limit,
  );

/** Attempts end with the first one that takes less than `enough`. */
function bestOf<T>(prepare: () => T, work: (input: T) => unknown, enough: number): number {
  let best = Infinity;
  for (let attempt = 0; attempt < ATTEMPTS && best >= enough; attempt += 1) {
    const input = prepare();
    const start = { clock: performance.now(), processor: process.cpuUsage() };
    work(input);
    const clock = performance.now() - start.clock;
    const { user, system } = process.cpuUsage(start.processor);
    best = Math.min(best, clock, (user + system) / 1000);
  }
  return best;
}

function lookups(filter: PayloadFilter, text: string): number {
  let count = 0;
  const payload = counted(JSON.parse(text), (more) => {
    count += more;
  });
  evaluatePayloadFilter(filter, payload);
  return count;
}

describe.each(Object.entries(SHAPES))('256 KB: %s', (_, make) => {
  it.runIf(isLong)(
    'evaluates every filter in less than 10 ms, or on a slow machine than four times the parsing',
    () => {
      const text = make(LARGEST);
      expect(text.length).toBeGreaterThan(LARGEST * 0.9);
      expect(text.length).toBeLessThanOrEqual(LARGEST);
      const limit = Math.max(
        LIMIT_MS,
        PARSINGS *
          bestOf(
            () => text,
            (input) => JSON.parse(input) as unknown,
            LIMIT_MS / PARSINGS,
          ),
      );
      const slow = FILTERS.map(([name, filter]) => ({ name, ms: bestTime(filter, text, limit) })).filter(
        ({ ms }) => ms >= limit,
      );
      expect(slow).toEqual([]);
    },
  );

  // Linear: what is looked up is bounded by the size, with one constant for all shapes and filters.
  it('limits lookups in proportion to the size of the payload', () => {
    const text = make(LARGEST / 8);
    const counts = FILTERS.map(([name, filter]) => ({ name, perByte: lookups(filter, text) / text.length }));
    expect(counts.filter(({ perByte }) => perByte > 2)).toEqual([]);
  });
});

it('evaluates payloads nested 30,000 levels deep', () => {
  const deep: unknown = JSON.parse(`${'[{"a":'.repeat(30_000)}1${'}]'.repeat(30_000)}`);
  for (const [, filter] of FILTERS) expect(evaluatePayloadFilter(filter, deep).reason.length).toBeLessThanOrEqual(500);
});
