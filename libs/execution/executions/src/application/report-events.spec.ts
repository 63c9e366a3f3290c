import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunnerEvent } from '#execution/runner-protocol';
import { contiguousAfter } from './report-events.js';

const event = (source_seq: number): RunnerEvent => ({ source_seq, kind: 'message_chunk', data: {} });

describe('contiguousAfter', () => {
  it('takes what continues, once, and stops at a gap', () => {
    expect(contiguousAfter(3, [2, 3, 4, 5, 5, 7].map(event)).map((item) => item.source_seq)).toEqual([4, 5]);
    expect(contiguousAfter(0, [2, 3].map(event))).toEqual([]);
  });

  it('stores every event exactly once however batches overlap', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(30), fc.integer({ min: 1, max: 12 })), { maxLength: 40 }), (batches) => {
        const stored: number[] = [];
        for (const [start, length] of batches) {
          const from = Math.min(start, stored.length) + 1;
          const batch = Array.from({ length }, (_, index) => event(from + index));
          stored.push(...contiguousAfter(stored.length, batch).map((item) => item.source_seq));
        }
        expect(stored).toEqual(stored.map((_, index) => index + 1));
      }),
    );
  });
});
