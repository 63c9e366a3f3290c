import { describe, expect, it } from 'vitest';
import { markGraphql, markRequest } from './agent-text.js';

const MARK = '<!-- headrace -->';
const marked = (text: string): string => `${text}\n\n${MARK}`;

describe('the mark in a request of GraphQL', () => {
  const queryOf = (query: string, variables?: object): { query: string; variables?: unknown } =>
    JSON.parse(markGraphql(JSON.stringify({ query, variables }))) as { query: string };
  const INLINE = String.raw`\n\n${MARK}`;

  it.each([
    ['mutation { a(input: {body: "x"}) { id } }', `mutation { a(input: {body: "x${INLINE}"}) { id } }`],
    ['mutation { a(body :, "", b: "y") { id } }', `mutation { a(body :, "${MARK}", b: "y") { id } }`],
    [String.raw`mutation { a(body: "x\\") { id } }`, String.raw`mutation { a(body: "x\\${INLINE}") { id } }`],
    ['mutation { a(body: """x \\""" y""") { id } }', `mutation { a(body: """x \\""" y\n\n${MARK}""") { id } }`],
    [
      'mutation M($t: [String!]! = "x", $u: Int) { a(description: $t) }',
      `mutation M($t: [String!]! = "x${INLINE}", $u: Int) { a(description: $t) }`,
    ],
    [
      'mutation { a(threads: [{body: "x"}, {body: "y"}]) { body } }',
      `mutation { a(threads: [{body: "x${INLINE}"}, {body: "y${INLINE}"}]) { body } }`,
    ],
    [
      'mutation { a(body: """\n    x\n      y\n    """) { id } }',
      `mutation { a(body: """\n    x\n      y\n\n    ${MARK}""") { id } }`,
    ],
    ['mutation { a(body: """ """) { id } }', `mutation { a(body: """${MARK}""") { id } }`],
  ])('is added to strings: %s', (query, expected) => expect(queryOf(query).query).toBe(expected));

  it.each([
    `mutation { a(title: "body: \\"x\\"", n: 1) { body: text } }`,
    'mutation { a(title: """\nbody: "x"\n""") { id } }',
    'mutation { a(id: 1) { id } } # body: "x"',
    `mutation { a(body: "x ${MARK}") { id } }`,
    'query { search(body: "x") { id } }',
    'mutation { a(body: null) { id } }',
  ])('changes nothing else: %s', (query) => expect(queryOf(query).query).toBe(query));

  it('is added to variables at any depth, and to those with other names', () => {
    const query =
      'mutation M($text: String, $more: X, $title: String) { a(body: $text, x: $more, title: $title) { id } }';
    const variables = {
      text: 'x',
      title: 'y',
      more: { title: 'z', threads: [{ body: 'a' }, { text: 'b', body: null }] },
    };
    expect(queryOf(query, variables).variables).toEqual({
      text: marked('x'),
      title: 'y',
      more: { title: 'z', threads: [{ body: marked('a') }, { text: 'b', body: null }] },
    });
  });

  it.each(['', '[]', '"x"', 'query={}'])('is not added to what is no JSON object: %s', (body) =>
    expect(() => markGraphql(body)).toThrow('must be a JSON object'),
  );
});

describe('the mark in a request of REST', () => {
  const sent = async (body: string, contentType?: string, query = '') => {
    const result = await markRequest({ query, body: Buffer.from(body), contentType });
    return { query: result.query, body: result.body.toString(), contentType: result.contentType };
  };

  it.each([
    ['application/x-www-form-urlencoded', '{"body":"x"}', JSON.stringify({ body: marked('x') })],
    ['application/json', '["bug"]', '["bug"]'],
    ['application/json', '{"labels":["bug"],"nested":{"body":"x"}}', '{"labels":["bug"],"nested":{"body":"x"}}'],
    [undefined, 'body=x&a=%20', `body=x%0A%0A%3C%21--+headrace+--%3E&a=+`],
    [undefined, 'comments[][body]=', 'comments%5B%5D%5Bbody%5D=%3C%21--+headrace+--%3E'],
    ['application/x-www-form-urlencoded', 'labels=a%2Cb&state=%20x', 'labels=a%2Cb&state=%20x'],
  ])('of the type %s: %s', async (type, body, expected) => expect((await sent(body, type)).body).toBe(expected));

  it('is added to the query, which else stays as it is', async () => {
    expect((await sent('', undefined, 'note=x')).query).toBe('note=x%0A%0A%3C%21--+headrace+--%3E');
    expect((await sent('', undefined, 'a=%20;b')).query).toBe('a=%20;b');
  });

  it('keeps the files of a form', async () => {
    const form = new FormData();
    form.append('body', 'x');
    form.append('file', new Blob(['content'], { type: 'image/png' }), 'a.png');
    const response = new Response(form);
    const { body, contentType } = await sent(await response.text(), response.headers.get('content-type') ?? '');
    const read = await new Response(body, { headers: { 'content-type': contentType ?? '' } }).formData();
    // A form has these line breaks.
    expect(read.get('body')).toBe(`x\r\n\r\n${MARK}`);
    const file = read.get('file') as File;
    expect([file.name, file.type, await file.text()]).toEqual(['a.png', 'image/png', 'content']);
  });
});
