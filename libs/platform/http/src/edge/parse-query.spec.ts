import { describe, expect, it } from 'vitest';
import { parseQuery } from './parse-query.js';

const parsed = (text: string): unknown => JSON.parse(JSON.stringify(parseQuery(text)));

describe('parseQuery', () => {
  it.each([
    ['', {}],
    ['a=1', { a: '1' }],
    ['a=1&a=2&a=3', { a: ['1', '2', '3'] }],
    ['a', { a: '' }],
    ['a=x+y%2B%C3%A9', { a: 'x y+é' }],
    ['m[k]=v', { m: { k: 'v' } }],
    ['m%5Bk.a%5D=v&m[b]=', { m: { 'k.a': 'v', b: '' } }],
    ['m[0]=a&m[2]=b', { m: { 0: 'a', 2: 'b' } }],
    ['m[k]=a&m[k]=b', { m: { k: ['a', 'b'] } }],
    ['m[constructor]=x&constructor=y', { m: { constructor: 'x' }, constructor: 'y' }],
    ['m[]=x', { m: { '': 'x' } }],
    ['m[a][b]=x', { 'm[a][b]': 'x' }],
    ['m=1&m[k]=v', { m: '1' }],
    ['m[k]=v&m=1', { m: '1' }],
    ['[k]=v', { '[k]': 'v' }],
  ])('%s', (text, expected) => {
    expect(parsed(text)).toEqual(expected);
  });

  it('keys with a meaning elsewhere are keys like others', () => {
    const { m } = parseQuery('m[__proto__]=x') as { m: object };
    expect(Object.keys(m)).toEqual(['__proto__']);
    expect(Object.keys(parseQuery('__proto__=x'))).toEqual(['__proto__']);
  });

  it('what is no UTF-8 is replaced', () => {
    expect(parsed('a=%ff&b=%')).toEqual({ a: '�', b: '%' });
  });

  // A copy of the list for each value needs some seconds.
  it.each(['a', 'a[b]', 'a[]'])('20,000 times %s are parsed in linear time', (name) => {
    const begin = performance.now();
    const [list] = Object.values(parseQuery(`${name}&`.repeat(20_000))).map((value) =>
      Array.isArray(value) ? value : Object.values(value)[0],
    );
    expect(performance.now() - begin).toBeLessThan(1_000);
    expect(list).toHaveLength(20_000);
  });
});
