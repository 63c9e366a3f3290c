import { describe, expect, it } from 'vitest';
import { formatTraceparent, parseTraceparent, turnTraceparent } from './traceparent.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

describe('traceparent', () => {
  it('is read with its flag, and with fields of later versions', () => {
    expect(parseTraceparent(`00-${TRACE}-${SPAN}-01`)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: true });
    expect(parseTraceparent(`cc-${TRACE}-${SPAN}-02-more`)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: false });
    expect(formatTraceparent({ traceId: TRACE, spanId: SPAN, isSampled: true })).toBe(`00-${TRACE}-${SPAN}-01`);
  });

  it.each([
    ['nothing', undefined],
    ['an empty text', ''],
    ['a version that is not allowed', `ff-${TRACE}-${SPAN}-01`],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['upper-case digits', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
  ])('is rejected: %s', (_what, text) => {
    expect(parseTraceparent(text)).toBeNull();
  });

  it('gives each turn of a run another span of the same trace', () => {
    const run = { traceId: TRACE, spanId: SPAN, isSampled: true };
    const [first, second] = [turnTraceparent(run, 'a'), turnTraceparent(run, 'b')];
    expect(first).toEqual({ ...run, spanId: expect.stringMatching(/^[0-9a-f]{16}$/) });
    expect(first.spanId).not.toBe(second.spanId);
    expect(turnTraceparent(run, 'a')).toEqual(first);
  });
});
