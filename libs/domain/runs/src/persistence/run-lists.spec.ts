import { describe, expect, it } from 'vitest';
import type { RunListQuery } from './run-list-parts.js';
import { ListShapes } from './run-lists.js';

const query = (over: Partial<RunListQuery> = {}): RunListQuery => ({
  owners: ['team:a'],
  sort: 'updated_at',
  order: 'desc',
  filters: {},
  limit: 21,
  after: null,
  ...over,
});
const page = (text: string): { text: string; values: readonly unknown[] } => ({ text, values: [] });

function asked(shapes: ListShapes, text: string, times: number, over: Partial<RunListQuery> = {}): unknown {
  let sent: unknown;
  for (let time = 0; time < times; time += 1) sent = shapes.statementOf(query(over), page(text));
  return sent;
}

describe('ListShapes', () => {
  it('prepares a list from the third time on, under a unique name', () => {
    const shapes = new ListShapes();
    expect(asked(shapes, 'one', 2)).toBe('one');
    expect(asked(shapes, 'one', 1)).toEqual({ name: expect.stringMatching(/^runs\.list\./) as string, text: 'one' });
    expect(asked(shapes, 'two', 3)).not.toEqual(asked(shapes, 'one', 1));
  });

  it.each<[string, Partial<RunListQuery>]>([
    ['an unusual page size', { limit: 38 }],
    ['many owners', { owners: ['a', 'b', 'c'] }],
    ['text to find', { filters: { search: { terms: [], runId: null } } }],
  ])('never prepares one with %s', (_what, over) => {
    expect(asked(new ListShapes(), 'one', 9, over)).toBe('one');
  });

  it('prepares up to the limit and keeps using those', () => {
    const shapes = new ListShapes();
    const sent = Array.from({ length: 100 }, (_, n) => asked(shapes, `list ${n}`, 3));
    expect(sent.filter((one) => typeof one === 'object')).toHaveLength(64);
    expect(asked(shapes, 'list 0', 1)).toEqual(sent[0]);
  });
});
