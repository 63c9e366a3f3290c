import fc from 'fast-check';

const codePoint = fc.oneof(
  fc.integer({ min: 0, max: 0x7f }),
  fc.integer({ min: 0x80, max: 0xd7ff }),
  fc.integer({ min: 0xe000, max: 0x10ffff }),
);

/**
 * Text of all code points that are not halves of a surrogate pair. `unit: 'binary'` of fast-check creates a table of all of them in
 * each process, which takes a second and memory for a million entries.
 */
export const anyText = (constraints: fc.ArrayConstraints = {}): fc.Arbitrary<string> =>
  fc.array(codePoint, constraints).map((points) => String.fromCodePoint(...points));
