/** The largest body that is taken, in bytes. */
export const LARGEST = 262_144;

/** As many parts as fit into `size` bytes of JSON, between brackets or braces. */
function filled(open: string, close: string, part: (index: number) => string, size: number): string {
  const parts: string[] = [];
  let length = open.length + close.length;
  for (let index = 0; ; index += 1) {
    const next = part(index);
    length += next.length + 1;
    if (length > size) return `${open}${parts.join(',')}${close}`;
    parts.push(next);
  }
}

const array = (part: (index: number) => string, size: number): string => filled('[', ']', part, size);
const object = (part: (index: number) => string, size: number): string => filled('{', '}', part, size);

/** `{"a":{"a":…}}` with `inside` at the end, or arrays of one object each. */
const nested = (depth: number, open: string, close: string, inside: string): string =>
  `${open.repeat(depth)}${inside}${close.repeat(depth)}`;

/** An array in an array in an array …, with `width` objects each and objects of `{"a":[…]}` in them. */
function bush(depth: number, width: number): string {
  if (depth === 0) return '{}';
  return `{"a":[${Array.from({ length: width }, () => bush(depth - 1, width)).join(',')}]}`;
}

/** Bodies of nearly `size` bytes that are hard in one way each. */
export const SHAPES: Readonly<Record<string, (size: number) => string>> = {
  'empty objects': (size) => array(() => '{}', size),
  'empty objects below a key': (size) => `{"a":${array(() => '{}', size - 6)}}`,
  'objects with the one key that is wanted': (size) => array(() => '{"a":1}', size),
  'objects with the last of the keys': (size) => array(() => '{"k63":1}', size),
  'objects with all of the keys': (size) =>
    array(() => `{${Array.from({ length: 64 }, (_, index) => `"k${index}":0`).join(',')}}`, size),
  'objects with their own key each': (size) => array((index) => `{"${index.toString(36)}x":1}`, size),
  'objects with two separate keys each': (size) =>
    array((index) => `{"${index.toString(36)}x":1,"${index.toString(36)}y":1}`, size),
  'objects with one of two keys that are wanted': (size) =>
    array((index) => `{"k1":0,"${index.toString(36)}x":1}`, size),
  'objects with the last of the keys and a separate one': (size) =>
    array((index) => `{"k63":1,"${index.toString(36)}x":1}`, size),
  'objects with numbers as keys': (size) => array((index) => `{"${index}":1}`, size),
  'one object with very many keys': (size) => object((index) => `"${index.toString(36)}x":1`, size),
  'one object with very many numbers as keys': (size) => object((index) => `"${index}":1`, size),
  'one object with very large numbers as keys': (size) => object((index) => `"${4_294_967_290 - index * 7}":1`, size),
  'objects in arrays, ten deep, two wide': (size) => array(() => bush(9, 2), size),
  'objects in arrays, seven deep, three wide': (size) => array(() => bush(6, 3), size),
  'objects in arrays, one wide, wide at the end': (size) =>
    nested(9, '{"a":[', ']}', `{"a":${array(() => '{"a":1}', size - 200)}}`),
  'objects in objects, wide at the end': (size) => nested(9, '{"a":', '}', `{"a":${array(() => '{}', size - 200)}}`),
  'one brace after another': (size) => nested(Math.floor(size / 6) - 1, '{"a":', '}', '1'),
  'one bracket after another': (size) => nested(Math.floor(size / 2) - 1, '[', ']', ''),
  'a bracket and a brace in turn': (size) => nested(Math.floor(size / 8) - 1, '[{"a":', '}]', '1'),
  'ones in an array': (size) => `{"a":${array(() => '1', size - 6)}}`,
  'fractions in an array': (size) => `{"a":${array((index) => `${index % 9}.5`, size - 6)}}`,
  'large numbers in an array': (size) => `{"a":${array(() => '1e99', size - 6)}}`,
  'letters in an array': (size) => `{"a":${array((index) => `"${index.toString(36)}"`, size - 6)}}`,
  'the same text in an array': (size) => `{"a":${array(() => '"aaaaaaaaaaaaaaaaaaaaaaaa"', size - 6)}}`,
  'empty arrays in an array': (size) => `{"a":${array(() => '[]', size - 6)}}`,
  'nulls in an array': (size) => `{"a":${array(() => 'null', size - 6)}}`,
  'scalars and objects in turn': (size) => `{"a":${array((index) => (index % 2 === 0 ? '0' : '{"a":0}'), size - 6)}}`,
  'one long text': (size) => `{"a":"${'x'.repeat(size - 8)}"}`,
  'one long text of controls': (size) => `{"a":"${'\\u0000'.repeat((size - 8) / 6)}"}`,
  'long texts of one length': (size) => `{"a":${array((index) => `"${'x'.repeat(16_400)}${index}"`, size - 6)}}`,
  'one long key': (size) => `{"${'x'.repeat(size - 6)}":1}`,
};
