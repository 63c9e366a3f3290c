import { describe, expect, it } from 'vitest';
import { evaluatePayloadFilter, type FilterResult } from './evaluate.js';
import { parsePayloadFilter } from './parse.js';

function evaluate(filter: string, payload: string): FilterResult {
  const parsed = parsePayloadFilter(JSON.parse(filter));
  if (parsed.kind === 'invalid') throw new Error(JSON.stringify(parsed.issues));
  return evaluatePayloadFilter(parsed.filter, JSON.parse(payload));
}

/** `true`, or the reason why not. */
type Row = [filter: string, payload: string, expected: true | string];

const holds = ([filter, payload, expected]: Row): void => {
  const { matched, reason } = evaluate(filter, payload);
  expect(matched ? true : reason).toBe(expected);
};

const ROWS: Record<string, Row[]> = {
  keys: [
    ['{"a":["x"],"b":["y"]}', '{"a":"x","b":"y","c":"z"}', true],
    ['{"a":["x"],"b":["y"]}', '{"a":"x","b":"z"}', '`b` is "z", which is not "y".'],
    ['{"b":["y"],"a":["x"]}', '{"a":"z","b":"z"}', '`a` is "z", which is not "x".'],
    ['{}', '{}', true],
    ['{}', '[]', true],
    ['{}', '"x"', true],
    ['{}', 'null', true],
  ],
  'bare array and in': [
    ['{"action":["opened","reopened"]}', '{"action":"reopened"}', true],
    [
      '{"action":["opened","reopened"]}',
      '{"action":"closed"}',
      '`action` is "closed", which is not one of "opened", "reopened".',
    ],
    ['{"action":{"in":["opened"]}}', '{"action":"opened"}', true],
    ['{"a":["x"]}', '{"a":"X"}', '`a` is "X", which is not "x".'],
    ['{"a":["x"]}', '{"a":" x"}', '`a` is " x", which is not "x".'],
    ['{"a":["é"]}', '{"a":"e\u0301"}', '`a` is "e\u0301", which is not "é".'],
    ['{"a":[1]}', '{"a":1.0}', true],
    ['{"a":[100]}', '{"a":1e2}', true],
    ['{"a":[0]}', '{"a":-0}', true],
    ['{"a":[1]}', '{"a":"1"}', '`a` is "1", which is not 1.'],
    ['{"a":["1"]}', '{"a":1}', '`a` is 1, which is not "1".'],
    // Beyond 2^53 numbers lose their last digits.
    ['{"a":[9007199254740992]}', '{"a":9007199254740993}', true],
    ['{"a":[true]}', '{"a":true}', true],
    ['{"a":[true]}', '{"a":1}', '`a` is 1, which is not true.'],
    ['{"a":[null]}', '{"a":null}', true],
    ['{"a":[null]}', '{}', '`a` is missing, and has to be null.'],
    ['{"a":[false,null]}', '{}', '`a` is missing, and has to be one of false, null.'],
    ['{"a":["x"]}', '{"a":{"b":"x"}}', '`a` is {…}, which is not "x".'],
    ['{"a":["x"]}', '{"a":{}}', '`a` is {}, which is not "x".'],
  ],
  'not_in and exists': [
    ['{"a":{"not_in":["x"]}}', '{"a":"y"}', true],
    ['{"a":{"not_in":["x"]}}', '{"a":"x"}', '`a` is "x", which `not_in` rules out.'],
    ['{"a":{"not_in":["x"]}}', '{"a":{"x":1}}', true],
    ['{"a":{"not_in":["x"]}}', '{"a":null}', true],
    ['{"a":{"not_in":[null]}}', '{"a":null}', '`a` is null, which `not_in` rules out.'],
    ['{"a":{"exists":true}}', '{"a":0}', true],
    ['{"a":{"exists":true}}', '{"a":null}', true],
    ['{"a":{"exists":true}}', '{"a":{}}', true],
    ['{"a":{"exists":true}}', '{"b":1}', '`a` is missing, and has to be there.'],
    ['{"a":{"exists":false}}', '{"b":1}', true],
    ['{"a":{"exists":false}}', '{"a":null}', '`a` is null, and must not be there.'],
    ['{"a":{"in":["x","y"],"not_in":["z"]}}', '{"a":"y"}', true],
    ['{"a":{"not_in":["z"],"exists":true}}', '{}', '`a` is missing, and has to be there.'],
    ['{"a":{"not_in":["z"],"exists":true}}', '{"a":"z"}', '`a` is "z", which `not_in` rules out.'],
  ],
  'plain object': [
    ['{"a":{"b":["x"]}}', '{"a":{"b":"x"}}', true],
    ['{"a":{"b":["x"]}}', '{"a":{"b":"y"}}', '`a.b` is "y", which is not "x".'],
    ['{"a":{"b":["x"]}}', '{"a":"x"}', '`a` is "x", and has to be an object.'],
    ['{"a":{"b":{"not_in":["x"]}}}', '{"a":null}', '`a` is null, and has to be an object.'],
    ['{"a":{}}', '{"a":{}}', true],
    ['{"a":{}}', '{"a":{"b":1}}', true],
    ['{"a":{}}', '{"a":1}', '`a` is 1, and has to be an object.'],
    ['{"a":{}}', '{}', '`a` is missing, and has to be an object.'],
    ['{"a":{}}', '{"a":[1,{}]}', true],
    ['{"a":{}}', '{"a":[]}', '`a` is [], and has to hold an object.'],
  ],
  'the body itself': [
    ['{"a":["x"]}', '[{"a":"y"},{"a":"x"}]', true],
    ['{"a":["x"]}', '[{"a":"y"}]', '`[0].a` is "y", which is not "x".'],
    [
      '{"a":["x"]}',
      '[1,{"a":"y"},{"a":"z"}]',
      'None of the 2 objects in the body matches: in the first, `[1].a` is "y", which is not "x".',
    ],
    ['{"a":{"exists":false}}', '[]', 'The body is [], and has to hold an object.'],
    ['{"a":{"exists":false}}', '[[{}]]', 'The body is [[…]], and has to hold an object.'],
    ['{"a":{"exists":false}}', '"x"', 'The body is "x", and has to be an object.'],
    ['{"a":{"exists":false}}', 'null', 'The body is null, and has to be an object.'],
  ],
  'array of scalars': [
    ['{"a":["x","y"]}', '{"a":["z","y"]}', true],
    ['{"a":["x","y"]}', '{"a":["z"]}', '`a` is ["z"], which holds none of "x", "y".'],
    ['{"a":["x"]}', '{"a":["z"]}', '`a` is ["z"], which holds no "x".'],
    ['{"a":["x"]}', '{"a":[]}', '`a` is [], which holds no "x".'],
    ['{"a":{"not_in":["x"]}}', '{"a":["y","z"]}', true],
    ['{"a":{"not_in":["x"]}}', '{"a":["y","x"]}', '`a[1]` is "x", which `not_in` rules out.'],
    ['{"a":{"not_in":["x"]}}', '{"a":[]}', true],
    ['{"a":{"in":["x"],"not_in":["y"]}}', '{"a":["x","y"]}', '`a[1]` is "y", which `not_in` rules out.'],
    ['{"a":{"exists":true}}', '{"a":[]}', true],
    ['{"a":{"exists":false}}', '{"a":[]}', '`a` is [], and must not be there.'],
    ['{"a":[null]}', '{"a":[1,null]}', true],
    // Arrays in arrays are not looked into.
    ['{"a":["x"]}', '{"a":[["x"]]}', '`a` is [[…]], which holds no "x".'],
    ['{"a":{"not_in":["x"]}}', '{"a":[["x"]]}', true],
    ['{"a":{"b":["x"]}}', '{"a":[[{"b":"x"}]]}', '`a` is [[…]], and has to hold an object.'],
    // Scalars and objects: each rule looks at its own.
    ['{"a":["x"]}', '{"a":[{"b":1},"x"]}', true],
    ['{"a":{"b":[1]}}', '{"a":["x",{"b":1}]}', true],
    ['{"a":["x"]}', '{"a":[{},[],1]}', '`a` is [{}, [], 1], which holds no "x".'],
  ],
  'array of objects': [
    ['{"a":{"b":["x"]}}', '{"a":[{"b":"y"},{"b":"x"}]}', true],
    [
      '{"a":{"b":["x"]}}',
      '{"a":[{"b":"y"},{},{"b":"z"}]}',
      'None of the 3 objects in `a` matches: in the first, `a[0].b` is "y", which is not "x".',
    ],
    ['{"a":{"b":["x"],"c":["y"]}}', '{"a":[{"b":"x","c":"y"}]}', true],
    // One element has to match all of it.
    [
      '{"a":{"b":["x"],"c":["y"]}}',
      '{"a":[{"b":"x"},{"c":"y"}]}',
      'None of the 2 objects in `a` matches: in the first, `a[0].c` is missing, and has to be "y".',
    ],
    ['{"a":{"b":{"exists":false}}}', '{"a":[{"b":1},{}]}', true],
    ['{"a":{"b":{"not_in":["x"]}}}', '{"a":[{"b":"x"},{"b":"y"}]}', true],
    ['{"a":{"b":{"not_in":["x"]}}}', '{"a":[]}', '`a` is [], and has to hold an object.'],
    // What holds of the first one holds of the others.
    [
      '{"a":{"b":{"not_in":["x"]}}}',
      '{"a":[{"b":"x"},{"b":"x"}]}',
      'None of the 2 objects in `a` matches: in the first, `a[0].b` is "x", which `not_in` rules out.',
    ],
    [
      '{"a":{"b":{"exists":false}}}',
      '{"a":[{"b":1},{"b":null}]}',
      'None of the 2 objects in `a` matches: in the first, `a[0].b` is 1, and must not be there.',
    ],
    [
      '{"a":{"toString":{"exists":true}}}',
      '{"a":[{},{}]}',
      'None of the 2 objects in `a` matches: in the first, `a[0].toString` is missing, and has to be there.',
    ],
    ['{"a":{"b":{"c":[1]}}}', '{"a":[{"b":[{"c":0}]},{"b":[{"c":2},{"c":1}]}]}', true],
    [
      '{"a":{"b":{"c":[1]}}}',
      '{"a":[{"b":[{"c":0},{"c":2}]},{"b":{"c":3}}]}',
      'None of the 2 objects in `a` matches: in the first, `a[0].b[0].c` is 0, which is not 1.',
    ],
    [
      '{"a":{"b":{"c":[1]}}}',
      '{"a":{"b":[{"c":0},{"c":2}]}}',
      'None of the 2 objects in `a.b` matches: in the first, `a.b[0].c` is 0, which is not 1.',
    ],
  ],
  'missing key': [
    ['{"a":["x"]}', '{}', '`a` is missing, and has to be "x".'],
    ['{"a":{"in":["x"],"not_in":["y"]}}', '{}', '`a` is missing, and has to be "x".'],
    ['{"a":{"not_in":["x"]}}', '{}', true],
    ['{"a":{"exists":false}}', '{}', true],
    ['{"a":{"b":{"exists":false}}}', '{}', '`a` is missing, and has to be an object.'],
    ['{"a":{"b":{"not_in":["x"]}}}', '{}', '`a` is missing, and has to be an object.'],
  ],
  'keys called like operators': [
    ['{"in":["x"]}', '{"in":"x"}', true],
    ['{"exists":["x"]}', '{"exists":"y"}', '`exists` is "y", which is not "x".'],
    ['{"a":{"in":["x"]}}', '{"a":{"in":"x"}}', '`a` is {…}, which is not "x".'],
    ['{"a":{"in":["x"],"b":["y"]}}', '{"a":{"in":"x","b":"y"}}', true],
    ['{"a":{"exists":{"exists":true},"":{"exists":false}}}', '{"a":{"exists":0}}', true],
    ['{"a":{"notIn":{"in":["x"]}}}', '{"a":{"notIn":"x"}}', true],
  ],
  'names that objects have by themselves': [
    ['{"__proto__":["x"]}', '{"__proto__":"x"}', true],
    ['{"__proto__":{"a":["x"]}}', '{"__proto__":{"a":"x"}}', true],
    ['{"__proto__":{"exists":true}}', '{}', '`__proto__` is missing, and has to be there.'],
    ['{"constructor":{"exists":false},"toString":{"not_in":["x"]}}', '{}', true],
    ['{"constructor":{"name":["Object"]}}', '{}', '`constructor` is missing, and has to be an object.'],
    [
      '{"a":{"toString":{}}}',
      '{"a":[{},{"b":1}]}',
      'None of the 2 objects in `a` matches: in the first, `a[0].toString` is missing, and has to be an object.',
    ],
    ['{"a":{"toString":["x"]}}', '{"a":[{},{"toString":"x"}]}', true],
    ['{"a":{"length":[1]}}', '{"a":[1]}', '`a` is [1], and has to hold an object.'],
    ['{"a":{"0":["x"]}}', '{"a":["x"]}', '`a` is ["x"], and has to hold an object.'],
    ['{"a":{"length":[1]}}', '{"a":"x"}', '`a` is "x", and has to be an object.'],
  ],
};

describe.each(Object.entries(ROWS))('payload filter, %s:', (_, rows) => {
  it.each(rows)('%s with %s', (...row) => holds(row));
});

describe('the reason of a match', () => {
  it.each([
    ['{}', '1', 'There is no filter.'],
    ['{"a":["x"]}', '{"a":"x"}', 'The clause matches.'],
    ['{"a":["x"],"b":{"c":{},"d":{"in":[1],"exists":true}}}', '{"a":"x","b":{"c":{},"d":1}}', 'All 3 clauses match.'],
  ])('%s with %s', (filter, payload, reason) => {
    expect(evaluate(filter, payload)).toEqual({ matched: true, reason });
  });
});
