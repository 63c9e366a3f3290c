import { assert, asyncProperty, constantFrom, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { markRequest } from './agent-text.js';
import { RefusedError } from './api-messages.js';

const MARK = '<!-- headrace -->';
const ENCODED_MARK = '%0A%0A%3C%21--+headrace+--%3E';
const marked = (text: string): string => `${text}\n\n${MARK}`;
const JSON_TYPE = 'application/json';
const FORM = 'application/x-www-form-urlencoded';

const send = async (body: string, contentType?: string, query = '') => {
  const result = await markRequest({ query, body: Buffer.from(body), contentType });
  return { query: result.query, body: result.body.toString(), contentType: result.contentType };
};

/** The fields with a text as Rack reads a form, of which versions differ: a semicolon may separate fields, too. */
const textsInRack = (form: string): string[] =>
  form.split(/[&;] */).flatMap((field) => {
    const [name = '', value = ''] = field.split('=', 2).map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
    const [first, ...others] = name
      .trimStart()
      .split(/[[\]]+/)
      .filter((part) => part !== '');
    return first === 'body' || (first === 'comments' && others.includes('body')) ? [value] : [];
  });

describe('the mark in a request of REST', () => {
  it.each([
    [FORM, '{"body":"x"}', JSON.stringify({ body: marked('x') }), JSON_TYPE],
    [FORM, '{"a":"&body=x"}', '{"a":"&body=x"}', JSON_TYPE],
    ['multipart/form-data; boundary=a', '{"note":"x"}', JSON.stringify({ note: marked('x') }), JSON_TYPE],
    [undefined, '{"a":1,"a":[ 2 ]}', '{"a":[2]}', JSON_TYPE],
    ['application/json; charset=utf-8', '["bug"]', '["bug"]', JSON_TYPE],
    [JSON_TYPE, JSON.stringify({ body: marked('x') }), JSON.stringify({ body: marked('x') }), JSON_TYPE],
    // GitLab removes lines with quick actions.
    [JSON_TYPE, `{"body":"/label ~x ${MARK}"}`, JSON.stringify({ body: marked(`/label ~x ${MARK}`) }), JSON_TYPE],
    [JSON_TYPE, '[{"name":"bug"}]', '[{"name":"bug"}]', JSON_TYPE],
    [JSON_TYPE, '[{"body":"x"}]', JSON.stringify([{ body: marked('x') }]), JSON_TYPE],
    [JSON_TYPE, 'null', 'null', JSON_TYPE],
    [FORM, '"body=x"', '"body=x"', JSON_TYPE],
    [JSON_TYPE, '{"labels":["bug"],"nested":{"body":"x"}}', '{"labels":["bug"],"nested":{"body":"x"}}', JSON_TYPE],
    [undefined, 'body=x&a=%20', `body=x${ENCODED_MARK}&a=+`, FORM],
    [`${FORM}; charset=utf-16`, 'note=x', `note=x${ENCODED_MARK}`, FORM],
    [FORM, 'comments[][body]=', 'comments%5B%5D%5Bbody%5D=%3C%21--+headrace+--%3E', FORM],
    [FORM, 'comments%5b1%5d%5bbody]=x', `comments%5B1%5D%5Bbody%5D=x${ENCODED_MARK}`, FORM],
    [FORM, 'body[]=x&body[a]=y', `body%5B%5D=x${ENCODED_MARK}&body%5Ba%5D=y${ENCODED_MARK}`, FORM],
    [FORM, 'labels=a%2Cb&state=%20x&body-x=y', 'labels=a%2Cb&state=+x&body-x=y', FORM],
    [FORM, 'a=1;body=x', 'a=1%3Bbody%3Dx', FORM],
    [FORM, 'position[line_range][start][line_code]=%', 'position%5Bline_range%5D%5Bstart%5D%5Bline_code%5D=%25', FORM],
  ])('of the type %s: %s', async (type, body, expected, contentType) =>
    expect(await send(body, type)).toEqual({ query: '', body: expected, contentType }),
  );

  it('is not added to JSON that is nested too deeply', async () => {
    const body = `{"comments":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    await expect(send(body, JSON_TYPE)).rejects.toMatchObject({
      status: 415,
      message: 'JSON in the body of the request must not be nested deeper than 500 levels.',
    });
  });

  it.each([
    '[body]=x',
    'body]]=x',
    'body]=x',
    '%5Bbody=x',
    'body[=x',
    'body[[a]]=x',
    'body[a]b=x',
    'a=1& body=x',
    '+body=x',
    '%09body=x',
    'body%00=x',
    'b%0Aody=x',
    'b.body=x',
    'a;body=x',
    '=x',
    '\uFEFFbody=x',
    '\uFEFF{"body":"x"}',
  ])('is not added to a form or query with the name in %s', async (form) => {
    const refusal = { status: 415, message: expect.stringContaining('in different ways') };
    await expect(send(form, FORM)).rejects.toMatchObject(refusal);
    await expect(send('', undefined, form)).rejects.toMatchObject(refusal);
  });

  it('is not added to a form with parts that have such a name', async () => {
    const body = '--a\r\ncontent-disposition: form-data; name="[body]"\r\n\r\nx\r\n--a--\r\n';
    await expect(send(body, 'multipart/form-data; boundary=a')).rejects.toThrow('in different ways: "[body]"');
  });

  it.each([JSON_TYPE, 'application/xml', 'text/plain'])('is not added to a form of the type %s', (type) =>
    expect(send('body=x', type)).rejects.toThrow('must be JSON or a form'),
  );

  it('is added to each text that Rack reads', async () => {
    const unit = constantFrom(
      'body',
      'comments',
      'a',
      '=',
      '&',
      '[',
      ']',
      ' ',
      '+',
      ';',
      '%20',
      '%5B',
      '%5D',
      '%26',
      '\n',
    );
    await assert(
      asyncProperty(string({ unit, maxLength: 12 }), async (form) => {
        const sent = await send(form, FORM, form).catch((error: unknown) => error);
        // An empty name, or one that is not in its normal form.
        if (sent instanceof RefusedError) return;
        const { body, query } = sent as Awaited<ReturnType<typeof send>>;
        for (const text of textsInRack(`${body}&${query}`)) expect(text).toContain(MARK);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is added to the query', async () => {
    expect((await send('', undefined, 'note=x')).query).toBe(`note=x${ENCODED_MARK}`);
    expect((await send('', undefined, 'a=%20;b')).query).toBe('a=+%3Bb');
  });

  it('keeps the files of a form', async () => {
    const form = new FormData();
    form.append('body', 'x');
    form.append('file', new Blob(['content'], { type: 'image/png' }), 'a.png');
    const response = new Response(form);
    const { body, contentType } = await send(await response.text(), response.headers.get('content-type') ?? '');
    const read = await new Response(body, { headers: { 'content-type': contentType ?? '' } }).formData();
    // A form has these line breaks.
    expect(read.get('body')).toBe(`x\r\n\r\n${MARK}`);
    const file = read.get('file') as File;
    expect([file.name, file.type, await file.text()]).toEqual(['a.png', 'image/png', 'content']);
  });
});
