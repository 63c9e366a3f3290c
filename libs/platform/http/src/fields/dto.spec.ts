import { IsEmail } from 'class-validator';
import { describe, expect, it } from 'vitest';
import { object } from './composite-kinds.js';
import {
  ArrayField,
  BooleanField,
  DateTimeField,
  EnumField,
  IntegerField,
  JsonField,
  MapField,
  ObjectField,
  StringField,
} from './decorators.js';
import { InputPipe } from './input.pipe.js';
import { text } from './scalar-kinds.js';

class Part {
  @StringField({ blank: false }) id: string;
  @IntegerField({ optional: true }) size?: number;
}

class Thing extends Part {
  @EnumField(['a', 'b'], { optional: true, nullable: true }) kind?: string | null;
  @ObjectField(() => Part, { optional: true }) part?: Part;
  @ArrayField(object(() => Part), { optional: true, maxItems: 2 }) parts?: Part[];
  @MapField(object(() => Part), { optional: true, keyPattern: /^[a-z]+$/, keySays: 'lower-case letters' })
  byName?: Record<string, Part>;
  @MapField(text({ maxBytes: 4 }), { optional: true, maxEntries: 2 }) labels?: Record<string, string>;
  @JsonField({ optional: true }) anything?: unknown;
  @DateTimeField({ optional: true }) at?: Date;
  @StringField({ optional: true }) @IsEmail({}, { message: 'must be an e-mail address' }) mail?: string;
}

class Search {
  @IntegerField({ min: 1, max: 500, optional: true }) limit?: number;
  @BooleanField({ optional: true }) refresh?: boolean;
  @ArrayField(text(), { optional: true }) state?: string[];
  @MapField(text(), { optional: true }) metadata?: Record<string, string>;
}

const pipe = new InputPipe();
const read = (value: unknown): unknown => pipe.transform(value, { type: 'body', metatype: Thing });
const search = (value: unknown): unknown => pipe.transform(value, { type: 'query', metatype: Search });

function issues(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return (error as { options: { errors: unknown } }).options.errors;
  }
  return 'accepted';
}

describe('a DTO', () => {
  it('is an instance with exactly what was given', () => {
    const body = {
      id: 'x',
      kind: null,
      part: { id: 'p' },
      parts: [{ id: 'q', size: 1 }],
      byName: { abc: { id: 'r' } },
      labels: { k: 'v' },
      anything: [{ deep: 1 }],
    };
    const thing = read(body);
    expect(thing).toBeInstanceOf(Thing);
    expect((thing as Thing).parts?.[0]).toBeInstanceOf(Part);
    expect(JSON.parse(JSON.stringify(thing))).toEqual(body);
  });

  it('inherits fields, and reads times', () => {
    const thing = read({ id: 'x', at: '2026-11-30T09:00:00Z' }) as Thing;
    expect(thing.at).toEqual(new Date('2026-11-30T09:00:00Z'));
  });

  it('names everything that is wrong, at its place', () => {
    const bad = {
      size: '1',
      kind: 'c',
      part: [],
      parts: [{ id: ' ' }, 3],
      byName: { abc: {}, 'A/B': { id: 'x' } },
      labels: { k: 'fives', l: 1 },
      at: 'now',
      mail: 'nobody',
      other: 1,
    };
    expect(issues(() => read(bad))).toEqual(
      expect.arrayContaining([
        { pointer: '/other', detail: 'is not a known field' },
        { pointer: '/id', detail: 'is required' },
        { pointer: '/size', detail: 'must be an integer' },
        { pointer: '/kind', detail: 'must be one of a, b' },
        { pointer: '/part', detail: 'must be an object' },
        { pointer: '/parts/0/id', detail: 'must not be blank' },
        { pointer: '/parts/1', detail: 'must be an object' },
        { pointer: '/byName/abc/id', detail: 'is required' },
        { pointer: '/byName/A~1B', detail: 'is not a valid key: it must be lower-case letters' },
        { pointer: '/labels/k', detail: 'must not exceed 4 bytes in UTF-8' },
        { pointer: '/labels/l', detail: 'must be a string' },
        { pointer: '/at', detail: 'must be a time in RFC 3339, such as 2026-11-30T09:00:00Z' },
        { pointer: '/mail', detail: 'must be an e-mail address' },
      ]),
    );
  });

  it('keeps keys with a meaning in JavaScript as plain data in maps, and refuses __proto__ everywhere', () => {
    const thing = read(JSON.parse('{"id": "x", "labels": {"constructor": "a", "toString": "b"}}')) as Thing;
    expect(Object.entries(thing.labels ?? {})).toEqual([
      ['constructor', 'a'],
      ['toString', 'b'],
    ]);
    for (const place of [
      '"labels": {"__proto__": "x"}',
      '"anything": {"a": [{"__proto__": 1}]}',
      '"__proto__": {"id": "y"}',
    ]) {
      expect(issues(() => read(JSON.parse(`{"id": "x", ${place}}`)))).not.toBe('accepted');
    }
    expect(({} as Record<string, unknown>).id).toBeUndefined();
  });

  it('limits lists and maps', () => {
    expect(issues(() => read({ id: 'x', parts: [{ id: 'a' }, { id: 'b' }, { id: 'c' }] }))).toEqual([
      { pointer: '/parts', detail: 'must not exceed 2 entries' },
    ]);
    expect(issues(() => read({ id: 'x', labels: { a: '', b: '', c: '' } }))).toEqual([
      { pointer: '/labels', detail: 'must not exceed 2 entries' },
    ]);
  });
});

describe('a body of very many unknown names', () => {
  it('is refused in time, with a hint for each reported issue', () => {
    const many = Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => [`anythin_${index}`, 1]));
    const startedAt = performance.now();
    const found = issues(() => read({ id: 'x', anythng: 1, ...many, parts: [many] }));
    // With a hint for each it takes tens of seconds.
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(found).toHaveLength(100);
    expect((found as unknown[])[0]).toEqual({
      pointer: '/anythng',
      detail: 'is not a known field (did you mean `anything`?)',
    });
  });
});

describe('a query', () => {
  it('is converted by what its fields say', () => {
    expect({ ...(search({ limit: '20', refresh: 'false', state: 'QUEUED', metadata: { a: '1' } }) as Search) }).toEqual(
      { limit: 20, refresh: false, state: ['QUEUED'], metadata: { a: '1' } },
    );
    expect((search({ state: ['QUEUED', 'FAILED'] }) as Search).state).toEqual(['QUEUED', 'FAILED']);
  });

  it('refuses repeated single values, nested text and unknown names', () => {
    expect(issues(() => search({ limit: ['1', '2'], metadata: { a: { b: '1' } }, limti: '1' }))).toEqual([
      { pointer: '/limti', detail: 'is not a known field (did you mean `limit`?)' },
      { pointer: '/limit', detail: 'must be an integer between 1 and 500' },
      { pointer: '/metadata/a', detail: 'must be a string' },
    ]);
  });
});
