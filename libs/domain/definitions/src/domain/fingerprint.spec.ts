import { describe, expect, it } from 'vitest';
import { canonicalJson } from '#platform/kernel';
import { differences, fingerprint } from './fingerprint.js';

describe('fingerprint', () => {
  it('is the same for what says the same', () => {
    expect(fingerprint({ a: 1, b: { c: 2, d: [3] } })).toBe(fingerprint({ b: { d: [3], c: 2 }, a: 1 }));
    expect(fingerprint({ a: 1, b: null, c: '', d: [], e: {}, f: undefined })).toBe(fingerprint({ a: 1 }));
  });

  it('differs for what says something else', () => {
    const all = [
      {},
      { a: false },
      { a: 0 },
      { a: [null] },
      { a: { b: null } },
      { a: '1' },
      { a: 1 },
      { a: [1, 2] },
      { a: [2, 1] },
    ];
    expect(new Set(all.map(fingerprint)).size).toBe(all.length);
  });
});

describe('differences', () => {
  it('names the fields, in order', () => {
    expect(differences({ c: 1, a: 1, b: null }, { a: 2, b: '', d: true })).toEqual(['a', 'c', 'd']);
  });
});

describe('canonicalJson', () => {
  it('keeps every key, whatever it is called', () => {
    const value: unknown = JSON.parse('{"b":{"__proto__":1},"a":[{"z":1,"constructor":2}]}');
    expect(canonicalJson(value)).toBe('{"a":[{"constructor":2,"z":1}],"b":{"__proto__":1}}');
  });
});
