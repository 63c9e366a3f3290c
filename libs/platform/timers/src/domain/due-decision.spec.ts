import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { processorMs } from '#testing';
import type { Cron } from './cron/croner-cron.js';
import { parseCron } from './cron/parse-cron.js';
import { decideDue, type Outage } from './due-decision.js';

const MINUTE = 60_000;
const CATCH_UP = 60 * MINUTE;
const START = Date.UTC(2026, 0, 1);

function cronOf(expression: string): Cron {
  const parsed = parseCron(expression);
  if (parsed.kind === 'invalid') throw new Error(parsed.detail);
  return parsed.cron;
}

/** Everything that becomes of the due times up to `now`, decided on again and again as processes do. */
function settle(cron: Cron, from: Date, now: Date, outages: readonly Outage[]) {
  const fired: number[] = [];
  const missed: (readonly [number, number])[] = [];
  let dueAt = cron.next(from);
  while (dueAt !== null && dueAt <= now) {
    const decision = decideDue(cron, dueAt, 0, { now, outages, catchUpMs: CATCH_UP });
    if (decision.fire) fired.push(decision.fire.getTime());
    if (decision.missed) missed.push([decision.missed.first.getTime(), decision.missed.last.getTime()]);
    dueAt = decision.next;
  }
  return { fired, missed, next: dueAt };
}

const arbitraryOutages = fc
  .uniqueArray(fc.integer({ min: 1, max: 600 * 60 }), { maxLength: 8 })
  .map((seconds) => [...seconds].sort((one, other) => one - other))
  .map((seconds) =>
    Array.from({ length: seconds.length >> 1 }, (_, index) => ({
      from: new Date(START + (seconds[2 * index] ?? 0) * 1000),
      until: new Date(START + (seconds[2 * index + 1] ?? 0) * 1000),
    })),
  );

describe('a due time', () => {
  it('is either fired or missed, and once, for any outages', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('* * * * *', '*/7 * * * *', '3,4,50 * * * *', '0 */2 * * *'),
        arbitraryOutages,
        fc.integer({ min: 1, max: 660 }),
        (expression, outages, minutes) => {
          const cron = cronOf(expression);
          const now = new Date(START + minutes * MINUTE);
          const { fired, missed, next } = settle(cron, new Date(START), now, outages);
          expect(new Set(fired).size).toBe(fired.length);
          let due = cron.next(new Date(START));
          while (due !== null && due <= now) {
            const at = due.getTime();
            const isMissed = missed.some(([first, last]) => first <= at && at <= last);
            expect([fired.includes(at), isMissed]).toContain(true);
            expect([fired.includes(at), isMissed]).toContain(false);
            // What is young enough is missed only because a later one of the same outage was made up for.
            if (isMissed && now.getTime() - at <= CATCH_UP) {
              const outage = outages.find(({ from, until }) => from.getTime() < at && at <= until.getTime());
              expect(outage).toBeDefined();
              expect(fired.some((one) => one > at && one <= (outage?.until.getTime() ?? 0))).toBe(true);
            }
            due = cron.next(due);
          }
          expect(next === null || next > now).toBe(true);
        },
      ),
      { numRuns: process.env.HEADRACE_TEST_LONG === '1' ? 500 : 100 },
    );
  });

  it('in the distant past is decided on without enumerating all due times since', () => {
    const cron = cronOf('* * * * *');
    const now = new Date(START + 5 * 365 * 86_400_000);
    const outage = { from: new Date(START), until: now };
    const spent = processorMs(() => {
      const { fired, missed } = settle(cron, new Date(START), now, [outage]);
      expect(fired).toEqual([now.getTime()]);
      expect(missed).toEqual([[START + MINUTE, now.getTime() - MINUTE]]);
    });
    expect(spent).toBeLessThan(500);
  });

  it('is too old counted from its jittered time, not from its due time', () => {
    const cron = cronOf('0 * * * *');
    const dueAt = new Date(START + 60 * MINUTE);
    const now = new Date(dueAt.getTime() + CATCH_UP + 10 * MINUTE);
    const at = (jitterMs: number) => decideDue(cron, dueAt, jitterMs, { now, outages: [], catchUpMs: CATCH_UP });
    expect(at(0).fire).toBeNull();
    expect(at(20 * MINUTE).fire).toEqual(dueAt);
  });
});
