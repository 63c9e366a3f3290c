const keys = (count: number): string[] => Array.from({ length: count }, (_, index) => `k${index}`);
const setOf = (count: number): string[] => Array.from({ length: count }, (_, index) => `value ${index}`);
const nested = (depth: number, inside: unknown): unknown =>
  Array.from({ length: depth }).reduce<unknown>((inner) => ({ a: inner }), inside);

/** 63 clauses that a missing key passes, and one that it fails. */
const patient = (last: unknown): Record<string, unknown> => ({
  ...Object.fromEntries(
    keys(63).map((key, index) => [key, index % 2 === 0 ? { not_in: setOf(32) } : { exists: false }]),
  ),
  ...(last as object),
});

/** Filters that are hard to evaluate, as large as filters may be. */
export const HARD_FILTERS: Readonly<Record<string, unknown>> = {
  'a text': { a: ['value'] },
  'a number that is not there': { a: { in: [-1], not_in: [-2] } },
  'the longest texts': { a: Array.from({ length: 32 }, (_, index) => `${'x'.repeat(16_400)}${index + 70}`) },
  'all but the last pass when missing': patient({ zz: { exists: true } }),
  'all but the last pass when missing, below a key': { a: patient({ zz: ['x'] }) },
  'all pass when missing but what is there': patient({ k63: { not_in: [1] } }),
  '64 that must be there': Object.fromEntries([...keys(63).map((key) => [key, [0]]), ['k63', [1]]]),
  'ten deep': nested(10, ['x']),
  'ten deep, two sets': nested(10, { in: setOf(32), not_in: ['a', 1, null] }),
  'ten deep, an object': nested(9, { a: {} }),
  'ten deep, six clauses each': Array.from({ length: 9 }).reduce<unknown>(
    (inner) => ({
      a: inner,
      ...Object.fromEntries(keys(6).map((key) => [key, { exists: false }])),
    }),
    patient9(),
  ),
  'its own names': JSON.parse('{"__proto__":{"not_in":["x"]},"constructor":{"exists":false},"toString":{"a":["x"]}}'),
};

function patient9(): Record<string, unknown> {
  return { a: { in: [-1] }, ...Object.fromEntries(keys(9).map((key) => [key, { not_in: [7] }])) };
}
