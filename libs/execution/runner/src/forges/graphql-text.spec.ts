import { assert, constantFrom, property, string, tuple } from 'fast-check';
import { type ArgumentNode, Kind, type ObjectFieldNode, parse, visit } from 'graphql/language/index.js';
import { describe, expect, it } from 'vitest';
import { markGraphql } from './graphql-text.js';

const MARK = '<!-- headrace -->';
const marked = (text: string): string => `${text}\n\n${MARK}`.trim();

interface Sent {
  readonly query: string;
  readonly variables?: unknown;
}
const send = (query: string, variables?: object): Sent =>
  JSON.parse(markGraphql(JSON.stringify({ query, variables }))) as Sent;

/** The strings of all arguments, fields of objects and default values, by their names. */
function stringsOf(query: string): [string, string][] {
  const found: [string, string][] = [];
  const add = ({ name, value }: ArgumentNode | ObjectFieldNode): void => {
    if (value.kind === Kind.STRING) found.push([name.value, value.value]);
  };
  visit(parse(query), {
    Argument: add,
    ObjectField: add,
    VariableDefinition: ({ variable, defaultValue }) => {
      if (defaultValue?.kind === Kind.STRING) found.push([`$${variable.name.value}`, defaultValue.value]);
    },
  });
  return found;
}

describe('the mark in a request of GraphQL', () => {
  it.each([
    ['mutation { a(input: {body: "x"}) { id } }', [['body', marked('x')]]],
    [
      'mutation { a(body :, "", b: "y") { id } }',
      [
        ['body', MARK],
        ['b', 'y'],
      ],
    ],
    [String.raw`mutation { a(body: "x\\") { id } }`, [['body', marked('x\\')]]],
    ['mutation { a(body: """x \\""" y""") { id } }', [['body', marked('x """ y')]]],
    ['mutation M($t: String! = "x", $u: Int) { a(description: $t, n: $u) }', [['$t', marked('x')]]],
    [
      'mutation { a(threads: [{body: "x"}, {note: "y"}]) { body } }',
      [
        ['body', marked('x')],
        ['note', marked('y')],
      ],
    ],
    ['mutation { a(body: """\n    x\n      y\n    """) { id } }', [['body', marked('x\n  y')]]],
    ['mutation { a(body: """ """) { id } }', [['body', MARK]]],
    [`mutation { a(body: "x\\n${MARK}") { id } }`, [['body', `x\n${MARK}`]]],
    ['mutation { ...F } fragment F on Mutation { a(body: "x") { id } }', [['body', marked('x')]]],
  ])('is added to strings: %s', (query, expected) => expect(stringsOf(send(query).query)).toEqual(expected));

  it.each([
    ['a comment that ends with a carriage return', 'mutation { a(# c\r body: "x") { id } }'],
    ['a comment that ends with both line terminators', 'mutation { a(# c\r\n body # c\r : # c\r "x") { id } }'],
    ['a number before the name of the next argument', 'mutation { a(n: 1,body: "x") { id } }'],
    ['a byte order mark', 'mutation { a(\uFEFFbody\uFEFF:\uFEFF"x") { id } }'],
    ['an escape sequence', String.raw`mutation { a(body: "\u0078") { id } }`],
    ['an operation that is not the first', 'query A { a } mutation B { a(body: "x") { id } }'],
    ['an alias with the name of a mutation for labels', 'mutation { createLabel: a(body: "x") { id } }'],
  ])('is added behind %s', (_name, query) =>
    expect(stringsOf(send(query).query)).toContainEqual(['body', marked('x')]),
  );

  it.each([
    ['""""x"""', '"x'],
    ['"""""x"""', '""x'],
    ['"""\n  x\r  y\r\n z"""', ' x\n y\nz'],
  ])('is added to a block string, which becomes a string: %s', (literal, text) => {
    const { query } = send(`mutation { a(body: ${literal}, title: ${literal}) { id } }`);
    expect(query).not.toContain('"""');
    expect(stringsOf(query)).toEqual([
      ['body', marked(text)],
      ['title', text],
    ]);
  });

  it.each([
    'mutation M($x: String = "x") { a(body: $ x) }',
    'mutation M($x: String = "x") { a(body: $#c\nx) }',
    'mutation M($\r\n,x: String = "x") { a(body: $#c\rx) }',
    'mutation M($x: String = "x") { createLabel(name: $x) { id } a(body: $x) }',
  ])('is added to a variable and its default value: %s', (query) => {
    const sent = send(query, { x: 'y' });
    expect(stringsOf(sent.query)).toEqual([['$x', marked('x')]]);
    expect(sent.variables).toEqual({ x: marked('y') });
  });

  it.each([
    ['mutation { a(title: "body: \\"x\\"", n: 1) { body: text } }', [['title', 'body: "x"']]],
    ['mutation { a(title: """\nbody: "x"\n""") { id } }', [['title', 'body: "x"']]],
    ['mutation { a(id: 1) { id } } # body: "x"', []],
    ['query { search(body: "x") { id } }', [['body', 'x']]],
    ['mutation { a(body: null) { id } }', []],
    ['mutation { createLabel(input: {description: "x"}) { id } }', [['description', 'x']]],
    ['mutation { labelCreate(input: {description: "x"}) { id } }', [['description', 'x']]],
    ['mutation { createCommitOnBranch(input: {message: {body: "x"}}) { id } }', [['body', 'x']]],
    ['mutation { releaseCreate(input: {description: "x"}) { id } }', [['description', 'x']]],
    ['mutation M($m: I = {body: "x"}) { createCommitOnBranch(input: {message: $m}) { id } }', [['body', 'x']]],
  ])('changes nothing else: %s', (query, expected) => expect(stringsOf(send(query).query)).toEqual(expected));

  it('is added to variables at any depth, and to those with other names', () => {
    const query =
      'mutation M($text: String, $more: X, $body: String, $label: L) { a(body: $text, x: $more, title: $body) { id } updateLabel(input: $label) { id } }';
    const variables = {
      text: 'x',
      body: 'y',
      more: { title: 'z', threads: [{ body: 'a' }, { text: 'b', body: null }] },
      label: { description: 'l' },
    };
    expect(send(query, variables).variables).toEqual({
      text: marked('x'),
      body: 'y',
      more: { title: 'z', threads: [{ body: marked('a') }, { text: 'b', body: null }] },
      label: { description: 'l' },
    });
  });

  it('is added to each text, however a document is written', () => {
    const ignored = constantFrom('', ' ', ',', '\n', '\r', '\r\n', '\uFEFF', '# body: "y"\n', '# "\r', '#"""\r\n');
    const quoted = (text: string): string => JSON.stringify(text).replaceAll('\u007F', String.raw`\u007F`);
    const block = (text: string): string => `"""${text.replaceAll('"""', String.raw`\"""`)}\n"""`;
    const written = constantFrom(quoted, block);
    const text = string({ unit: constantFrom('a', ' ', '"', '\\', '#', '\n', '\r', '{', ':', '$', 'é') });
    const document = tuple(ignored, ignored, ignored, ignored, text, text, written).map(([a, b, c, d, x, y, write]) =>
      [`mutation${a}{${b}f(title${c}:${d}${write(y)}`, `${a}body${b}:${c}`, `${write(x)}${d})}`].join(' '),
    );
    assert(
      property(document, (query) => {
        const found = stringsOf(send(query).query);
        expect(found.map(([name]) => name)).toEqual(['title', 'body']);
        expect(found[1]?.[1]).toContain(MARK);
        expect(found[0]).toEqual(stringsOf(query)[0]);
      }),
      { numRuns: 500 },
    );
  });

  it('is not added to variables that are nested too deeply', () => {
    const variables = `${'{"a":'.repeat(1_000)}1${'}'.repeat(1_000)}`;
    expect(() => markGraphql(`{"query":"mutation { a }","variables":${variables}}`)).toThrow('deeper than 500 levels');
  });

  it('sends only the fields of a request', () => {
    const operationName = 'B';
    const request = {
      query: 'query A { a } query B { b }',
      operationName,
      variables: null,
      extensions: {},
      doc_id: '1',
    };
    expect(JSON.parse(markGraphql(JSON.stringify(request)))).toEqual({
      query: 'query A {\n  a\n}\n\nquery B {\n  b\n}',
      operationName,
      variables: null,
    });
  });

  it.each([
    '',
    '[]',
    '"x"',
    'query={}',
    '{}',
    '[{"query":"{ a }"}]',
    '\uFEFF{"query":"{ a }"}',
    '{"query":"{ a }","variables":"{}"}',
    '{"query":"{ a }","variables":[]}',
    '{"query":"{ a }","operationName":1}',
  ])('is not added to what is no request: %s', (body) =>
    expect(() => markGraphql(body)).toThrow('must be a JSON object with the string `query`'),
  );

  it.each([
    ['a number directly before a name', 'mutation { a(n: 1body: "x") }', 'Invalid number'],
    ['a block string without an end', 'mutation { a(body: """x"""") }', 'Unterminated string'],
    ['a line terminator in a string', 'mutation { a(body: "x\r") }', 'Unterminated string'],
    ['an unknown character', 'mutation { a(body\u00A0: "x") }', 'Unexpected character: U+00A0'],
    ['half of a character', 'mutation { a(body: "\uD800") }', 'Invalid character'],
    ['too many tokens', `{ ${'a '.repeat(100_001)} }`, '100000 tokens'],
    ['too deep nesting', '{a'.repeat(20_000), 'Maximum call stack size exceeded'],
  ])('is not added to a document with %s', (_name, query, message) =>
    expect(() => send(query)).toThrow(
      expect.objectContaining({
        status: 415,
        message: expect.stringContaining(message),
      }),
    ),
  );
});
