import { describe, expect, it } from 'vitest';
import { type Clause, type Filter, newClause, readValues, toClauses, toFilter, writeValues } from './filter.js';

const plain = ({ field, operator, values, clauses }: Clause): object => ({
  field,
  operator,
  ...(values !== '' && { values }),
  ...(clauses.length > 0 && { clauses: clauses.map(plain) }),
});

describe('filters as rows of a form', () => {
  it.each<Filter>([
    {},
    { action: ['opened', 'reopened'] },
    { issue: { labels: { name: ['bug'] }, assignee: [null] }, sender: { type: { not_in: ['Bot'], exists: true } } },
    { 'a.b': { 'c\\d': ['x'] } },
    { labels: { name: ['bug'], color: ['red'] }, empty: {} },
    { range: { in: ['EU'], '': { exists: false } } },
    { n: [1, 1.5, true, null, '1', 'true', '', ' a', 'a, b', 'say "x"'] },
    { in: ['a'], not_in: { exists: false } },
    JSON.parse('{"__proto__": ["a"], "constructor": ["b"]}') as Filter,
  ])('keeps %j', (filter) => {
    const clauses = toClauses(filter);
    expect(JSON.stringify(toFilter(clauses ?? []))).toBe(JSON.stringify(filter));
  });

  it('shows nested keys as one field, and several conditions of an object as a group', () => {
    const clauses = toClauses({ a: { b: { c: ['x'] } }, labels: { name: ['bug'], color: { exists: false } } });
    expect(clauses?.map(plain)).toEqual([
      { field: 'a.b.c', operator: 'in', values: 'x' },
      {
        field: 'labels',
        operator: 'group',
        clauses: [
          { field: 'name', operator: 'in', values: 'bug' },
          { field: 'color', operator: 'missing' },
        ],
      },
    ]);
  });

  it('rejects what it cannot show and conditions that exclude each other', () => {
    for (const filter of [{ a: 'x' }, { a: { in: 'x' } }, { a: { exists: 1 } }, ['a']])
      expect(toClauses(filter as Filter)).toBeNull();
    const twice = [newClause({ field: 'a', values: 'x' }), newClause({ field: 'a', values: 'y' })];
    expect(() => toFilter(twice)).toThrow('Two conditions of a');
    expect(() => toFilter([newClause({ values: 'x' })])).toThrow('no field');
    expect(() => toFilter([newClause({ field: 'a', values: ' , ' })])).toThrow('no value');
    expect(() =>
      toFilter([newClause({ field: 'a', values: 'x' }), newClause({ field: 'a.b', values: 'y' })]),
    ).toThrow();
  });

  it('reads values with commas between them', () => {
    expect(readValues('opened, 1,"1" , "a, b", null,,true')).toEqual(['opened', 1, '1', 'a, b', null, true]);
    expect(writeValues(['opened', 1, '1', 'a, b', null])).toBe('opened, 1, "1", "a, b", null');
  });
});
