import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PlainEvent, EventRedactor } from '../protocol/outgoing-events.js';
import { Redactor } from './redactor.js';

const SECRET = 'gh+p/s3cr3t?tökèn=="x';
const redactor = new Redactor([SECRET]);

describe('a redactor', () => {
  it.each([
    ['as it is', SECRET],
    ['in a URL', encodeURIComponent(SECRET)],
    ['in JSON', JSON.stringify({ a: SECRET })],
    ['in base64', Buffer.from(SECRET).toString('base64')],
    ['in base64 for URLs', Buffer.from(SECRET).toString('base64url')],
    ['in basic authentication', Buffer.from(`user:${SECRET}`).toString('base64')],
    ['in basic authentication of another length', Buffer.from(`users:${SECRET}`).toString('base64')],
    ['in hexadecimal', Buffer.from(SECRET).toString('hex')],
  ])('finds a value %s', (_, text) => {
    const result = redactor.text(`before ${text} after`);
    expect(result).toMatch(/^before .*\*\*\*.* after$/);
    expect(result.length).toBeLessThan(text.length);
  });

  const LONG = `${SECRET}${'0123456789abcdefghijklmnopqrstuvwxyz/+'.repeat(4)}`;
  const long = new Redactor([LONG]);
  const wrap = (text: string, columns: number, end = '\n'): string =>
    (text.match(new RegExp(`.{1,${columns}}`, 'g')) ?? []).join(end);
  const base64 = Buffer.from(LONG).toString('base64');
  const digits = Buffer.from(LONG).toString('hex');
  const json = JSON.stringify(LONG).slice(1, -1);

  it.each([
    ['base64, wrapped at 76 columns', wrap(base64, 76)],
    ['base64, wrapped with carriage returns', wrap(base64, 64, '\r\n')],
    ['base64, wrapped and indented', wrap(base64, 64, '\n    ')],
    ['base64, wrapped, in JSON', JSON.stringify(wrap(base64, 76))],
    ['base64 of a user and the value, wrapped', wrap(Buffer.from(`user:${LONG}`).toString('base64'), 76)],
    ['hexadecimal, wrapped at 60 columns', wrap(digits, 60)],
    ['hexadecimal in capitals', digits.toUpperCase()],
    ['hexadecimal in capitals, wrapped', wrap(digits.toUpperCase(), 60)],
    ['hexadecimal, a space before each byte', wrap(wrap(digits, 2, ' '), 48)],
    ['hexadecimal, a colon between bytes', wrap(digits, 2, ':')],
    ['a URL with escapes in lower case', encodeURIComponent(LONG).replace(/%../g, (one) => one.toLowerCase())],
    ['a URL whose slashes stay', encodeURIComponent(LONG).replaceAll('%2F', '/')],
    ['JSON in ASCII', json.replace(/[^\x00-\x7f]/g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`)],
    [
      'JSON in ASCII with capitals',
      json.replace(/[^\x00-\x7f]/g, (one) => `\\u00${one.charCodeAt(0).toString(16).toUpperCase()}`),
    ],
    ['JSON with escaped slashes', json.replaceAll('/', '\\/')],
  ])('leaves nothing of a long value in %s', (_, form) => {
    for (const text of [`before ${form} after`, `before ${form}`, `${form} after`]) {
      const masked = long.text(text);
      // Base64 digits that also depend on the text beside the value may remain.
      expect(masked.replace(/before|after|[\s"]/g, '').length).toBeLessThan(20);
      expect(masked).toContain('***');
    }
    const file = Buffer.from(long.bytes(new Uint8Array(Buffer.from(`before ${form} after`)))).toString();
    expect(file.replace(/before|after|[\s"]/g, '').length).toBeLessThan(20);
  });

  it('redacts parts of a wrapped value at the end of a truncated text', () => {
    const text = wrap(base64, 76);
    expect(long.text(text.slice(40))).not.toMatch(/[A-Za-z0-9+/]{12}/);
    expect(long.text(text.slice(0, -40))).not.toMatch(/[A-Za-z0-9+/]{12}/);
  });

  it('keeps ordinary text with line ends and spaces', () => {
    const text = 'a: b\n\n  c \\n d\r\n'.repeat(50);
    expect(long.text(text)).toBe(text);
  });

  it('redacts the lines of a key, but not its header', () => {
    const key = '-----BEGIN KEY-----\nabcdefghijkl\nmnopqrstuvwx\n-----END KEY-----\n';
    const result = new Redactor([key]).text('-----BEGIN KEY-----\n x mnopqrstuvwx');
    expect(result).toBe('-----BEGIN KEY-----\n x ***');
  });

  it('redacts parts of a value at the end of a truncated text', () => {
    const plain = new Redactor(['0123456789abcdef']);
    expect(plain.text('3456789abcdef tail')).toBe('*** tail');
    expect(plain.text('head 0123456789')).toBe('head ***');
    expect(plain.text('head 0123')).toBe('head 0123');
  });

  it('keeps short values and all other text', () => {
    const short = new Redactor(['abc', '', 'no']);
    expect(short.isIdle).toBe(true);
    const value = { a: ['nothing', 1, null], b: true };
    expect(redactor.json(value)).toEqual(value);
    const bytes = new Uint8Array([0xff, 0x00, 0x41]);
    expect(redactor.bytes(bytes)).toBe(bytes);
  });

  it('redacts a value in a binary file', () => {
    const file = new Uint8Array(Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(SECRET), Buffer.from([0xff])]));
    expect(Buffer.from(redactor.bytes(file))).toEqual(
      Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('***'), Buffer.from([0xff])]),
    );
  });
});

describe('chunks of a message', () => {
  const tell = (pieces: readonly string[]): { events: PlainEvent[]; text: string } => {
    const events = new EventRedactor(redactor);
    const reported = [
      ...pieces.flatMap((text) => events.redact({ kind: 'message_chunk', data: { message_id: 'm', text } })),
      ...events.redact({ kind: 'turn_ended', data: { turn_id: 't', message: SECRET } }),
    ];
    const chunks = reported.filter(({ kind }) => kind === 'message_chunk');
    return { events: reported, text: chunks.map(({ data }) => String(data['text'])).join('') };
  };

  it('never contain a value at any split, and lose no other text', () => {
    const whole = `It is ${SECRET}, I think; ${SECRET}${SECRET.slice(0, 5)} g`;
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: whole.length - 1 }), { maxLength: 20 }), (cuts) => {
        const ends = [...new Set(cuts)].sort((a, b) => a - b);
        const pieces = [...ends, whole.length].map((end, index) => whole.slice(index === 0 ? 0 : ends[index - 1], end));
        const { text, events } = tell(pieces);
        expect(text).toBe(whole.replaceAll(SECRET, '***'));
        expect(events.at(-1)).toEqual({ kind: 'turn_ended', data: { turn_id: 't', message: '***' } });
      }),
    );
  });

  it('never contain a wrapped value at any split', () => {
    const encoded = Buffer.from(SECRET.repeat(3)).toString('base64');
    const wrapped = encoded.replace(/.{1,20}/g, (line) => `${line}\n`);
    const whole = `It is\n${wrapped}I think`;
    const piecewise = new Redactor([SECRET.repeat(3)]);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: whole.length - 1 }), { maxLength: 20 }), (cuts) => {
        const ends = [...new Set(cuts)].sort((a, b) => a - b);
        const events = new EventRedactor(piecewise);
        const reported = [...ends, whole.length].flatMap((end, index) =>
          events.redact({
            kind: 'message_chunk',
            data: { message_id: 'm', text: whole.slice(index === 0 ? 0 : ends[index - 1], end) },
          }),
        );
        const text = [...reported, ...events.release()].map(({ data }) => String(data['text'])).join('');
        expect(text).toBe('It is\n***\nI think');
      }),
    );
  });

  it('keep their order when another message begins', () => {
    const events = new EventRedactor(redactor);
    const chunk = (message_id: string, text: string): PlainEvent => ({
      kind: 'message_chunk',
      data: { message_id, text },
    });
    expect(events.redact(chunk('a', 'one g'))).toEqual([chunk('a', 'one ')]);
    expect(events.redact(chunk('b', 'two'))).toEqual([chunk('a', 'g'), chunk('b', 'two')]);
  });
});
