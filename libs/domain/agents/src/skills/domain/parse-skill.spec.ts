import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { anyText } from '#testing';
import { type ParsedSkill, parseSkill } from './parse-skill.js';
import { MAX_FRONT_MATTER } from './skill-files.js';

const parse = (text: string): ParsedSkill => parseSkill(Buffer.from(text));
const errorOf = (text: string): string => {
  const parsed = parse(text);
  return parsed.kind === 'malformed' ? parsed.error : 'none';
};

describe('parseSkill', () => {
  it('reads front matter and body, however lines end and whether or not a mark comes first', () => {
    const expected = { kind: 'skill', name: 'review', description: 'Reviews things.', body: '# Title\n\nDo it.' };
    const text =
      '---\nname: review\ndescription: >\n  Reviews\n  things.\nother: {a: [1]}\n---\n\n# Title\n\nDo it.\n\n';
    expect(parse(text)).toEqual(expected);
    expect(parse(text.replaceAll('\n', '\r\n'))).toEqual(expected);
    expect(parse(`\uFEFF${text}`)).toEqual(expected);
  });

  it('falls back to the directory’s name and the first paragraph', () => {
    const paragraph = { kind: 'skill', name: null, description: 'One two.', body: '# T\n\nOne\ntwo.\n\nThree.' };
    expect(parse('# T\n\nOne\ntwo.\n\nThree.')).toEqual(paragraph);
    expect(parse('---\n---\n# T\n\nOne\ntwo.\n\nThree.')).toEqual(paragraph);
    expect(parse('---\n# nothing but a comment\n---\n# T\n\nOne\ntwo.\n\nThree.')).toEqual(paragraph);
    expect(parse('---\nname:\ndescription: "  "\n---\n# T\n\nOne\ntwo.\n\nThree.')).toEqual(paragraph);
    expect(parse('')).toEqual({ kind: 'skill', name: null, description: '', body: '' });
    expect(parse('text\n---\nname: x\n---\n')).toMatchObject({ name: null, description: 'text' });
  });

  it.each([
    ['Title\n=====\n\nText.', 'Text.'],
    ['```\ncode\n```\n\nText.', 'Text.'],
    ['Text\n```\ncode\n```', 'Text'],
    ['## Only a heading ##', 'Only a heading'],
    ['\n\n   spaced    out \t text', 'spaced out text'],
  ])('takes from %j the description %j', (body, description) => {
    expect(parse(body)).toMatchObject({ description });
  });

  it('cuts what is too long, and no character in two', () => {
    const description = (text: string): string => (parse(text) as { description: string }).description;
    expect(description('a'.repeat(600))).toHaveLength(512);
    expect(description(`a${'😀'.repeat(400)}`)).toBe(`a${'😀'.repeat(255)}`);
    expect(description(`---\ndescription: ${'b'.repeat(5000)}\n---\n`)).toHaveLength(2048);
  });

  it.each([
    ['---\nname: x\nBody', 'The front matter has no closing line `---`.'],
    ['---\nname: [x\n---\n', /^The front matter is not valid YAML, line \d: /],
    ['---\nname: a\nname: b\n---\n', /^The front matter is not valid YAML, line 3: /],
    ['---\ndescription: Use when: asked\n---\n', /^The front matter is not valid YAML, line 2: /],
    ['---\n- name\n---\n', 'The front matter is not a mapping of keys to values.'],
    ['---\njust text\n---\n', 'The front matter is not a mapping of keys to values.'],
    ['---\nname: 5\n---\n', '`name` is not a text.'],
    ['---\nname: true\n---\n', '`name` is not a text.'],
    ['---\nname: {a: b}\n---\n', '`name` is not a text.'],
    ['---\ndescription: [a]\n---\n', '`description` is not a text.'],
    ['---\nname: "a\\nb"\n---\n', '`name` is not on one line.'],
    ['---\nname: "a\\0b"\n---\n', '`name` has characters that are no text.'],
    ['---\nname: "\\uD800"\n---\n', '`name` has characters that are no text.'],
    [`---\nname: ${'x'.repeat(129)}\n---\n`, '`name` has more than 128 characters.'],
    ['---\na: &a [x]\nname: *a\n---\n', 'The front matter uses aliases, which are not allowed.'],
    [`---\n${'#'.repeat(MAX_FRONT_MATTER + 1)}\n---\n`, /more than 8192 characters/],
    ['a\0b', 'The file is not UTF-8 text.'],
  ])('calls %j malformed', (text, error) => {
    expect(errorOf(text)).toMatch(error);
  });

  it('refuses bytes that are no text', () => {
    expect(parseSkill(Buffer.from([0x61, 0xff]))).toEqual({ kind: 'malformed', error: 'The file is not UTF-8 text.' });
  });

  it('survives what grows when it is read', () => {
    const laughs = Array.from({ length: 9 }, (_, index) => `l${index}: &l${index} [${`*l${index - 1},`.repeat(9)}]`);
    expect(errorOf(`---\nl: &l-1 lol\n${laughs.join('\n')}\n---\n`)).not.toBe('none');
    for (const opening of ['[', '{a: ', '- ', '? ', '!!a ', '&a ', '"'])
      expect(parse(`---\nx: ${opening.repeat(Math.floor(8_000 / opening.length))}\n---\n`)).toHaveProperty('kind');
  });

  it('takes any bytes, and its texts can be stored', () => {
    const piece = fc.constantFrom(
      '---',
      '\n',
      'name: ',
      'description: ',
      '"',
      '[',
      '&a',
      '*a',
      '|',
      '\\u0000',
      '\t',
      '\r',
      '# x',
    );
    const text = fc.array(fc.oneof(piece, anyText()), { maxLength: 40 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 200 }),
          text.map((value) => Buffer.from(`---\n${value}`)),
        ),
        (bytes) => {
          const parsed = parseSkill(bytes);
          const texts = parsed.kind === 'skill' ? [parsed.name ?? '', parsed.description, parsed.body] : [parsed.error];
          for (const value of texts) expect(value.isWellFormed() && !value.includes('\0')).toBe(true);
          if (parsed.kind === 'malformed') expect(parsed.error).not.toBe('');
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('reads back whatever YAML can write', () => {
    const line = fc
      .string({ minLength: 1, maxLength: 60 })
      .map((value) => value.trim())
      .filter((value) => value !== '');
    fc.assert(
      fc.property(line, line, (name, description) => {
        const front = stringify({ name, description }, { defaultStringType: 'QUOTE_DOUBLE' });
        expect(parse(`---\n${front}---\nBody`)).toEqual({ kind: 'skill', name, description, body: 'Body' });
      }),
    );
  });
});
