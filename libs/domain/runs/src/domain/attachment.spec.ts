import { describe, expect, it } from 'vitest';
import { checkAttachments, isFileName, MAX_ATTACHMENT_BYTES } from './attachment.js';

const one = (change: object = {}) => ({ file_name: 'a.txt', mime_type: 'text/plain', data: 'aGk=', ...change });
const base64Of = (bytes: number): string => Buffer.alloc(bytes).toString('base64');
/** The pointers that are found fault with. */
const faults = (...raw: ReturnType<typeof one>[]): string[] => {
  const checked = checkAttachments(raw);
  return checked.kind === 'invalid' ? checked.issues.map(({ pointer }) => pointer) : [];
};

describe('attachments of a request', () => {
  it('are decoded', () => {
    expect(checkAttachments([one(), one({ file_name: 'empty', data: '' })])).toEqual({
      kind: 'valid',
      attachments: [
        { fileName: 'a.txt', mimeType: 'text/plain', content: Buffer.from('hi') },
        { fileName: 'empty', mimeType: 'text/plain', content: Buffer.alloc(0) },
      ],
    });
    expect(checkAttachments([])).toEqual({ kind: 'valid', attachments: [] });
  });

  it.each(['aGk', 'aGk==', 'aG k=', 'aGk=\n', 'a-_=', '====', 'aGl=', 'aGk=aGk=', 'data:;base64,aGk='])(
    'are refused when the data is %j, which is no base64',
    (data) => {
      expect(faults(one(), one({ data }))).toEqual(['/attachments/1/data']);
    },
  );

  it.each([
    '..',
    '.',
    ' ',
    '',
    'a/b',
    'a\\b',
    '/etc/passwd',
    'a\nb',
    'a\0',
    'a\u007f',
    'gpj.\u202eexe',
    'ä'.repeat(128),
  ])('are refused when they are called %j', (file_name) => {
    expect(faults(one({ file_name }))).toEqual(['/attachments/0/file_name']);
    expect(isFileName(file_name)).toBe(false);
  });

  it.each(['.env', 'ein Bericht (2).pdf', '日本語.txt', 'a..b', '...', 'ä'.repeat(127), '👩‍💻.md'])(
    'may be called %j',
    (file_name) => {
      expect(checkAttachments([one({ file_name })])).toMatchObject({ attachments: [{ fileName: file_name }] });
    },
  );

  it.each([
    'text',
    'text/',
    '/plain',
    'text/plain;',
    'text/pl ain',
    'text/plain\r\nX: y',
    'a/b/c',
    'text/plain; charset',
  ])('are refused when the media type is %j', (mime_type) => {
    expect(faults(one({ mime_type }))).toEqual(['/attachments/0/mime_type']);
  });

  it.each(['text/plain; charset=utf-8', 'text/plain;charset="utf-8"', 'application/vnd.a.b+json', 'image/svg+xml'])(
    'may have the media type %j',
    (mime_type) => {
      expect(checkAttachments([one({ mime_type })])).toMatchObject({ attachments: [{ mimeType: mime_type }] });
    },
  );

  it('lists every issue of a request', () => {
    expect(faults(one({ file_name: '', data: '!' }), one(), one({ mime_type: 'x' }))).toEqual([
      '/attachments/0/file_name',
      '/attachments/0/data',
      '/attachments/2/mime_type',
    ]);
  });

  it('may have their limit each, and no byte more', () => {
    const full = one({ data: base64Of(MAX_ATTACHMENT_BYTES) });
    expect(checkAttachments([full])).toMatchObject({ kind: 'valid' });
    expect(checkAttachments([one(), one({ data: base64Of(MAX_ATTACHMENT_BYTES + 1) })])).toMatchObject({
      kind: 'too_large',
      pointer: '/attachments/1/data',
    });
  });

  it('have a limit together', () => {
    const seven = one({ data: base64Of(7 * 1_048_576) });
    expect(checkAttachments([seven, seven])).toMatchObject({ kind: 'valid' });
    expect(checkAttachments([seven, seven, one()])).toMatchObject({ kind: 'too_large', pointer: '/attachments' });
  });

  it('makes equal file names unique', () => {
    const names = ['image.png', 'image.png', 'Image.PNG', 'image (2).png', '.env', '.env'];
    const checked = checkAttachments(names.map((file_name) => one({ file_name })));
    expect(checked.kind === 'valid' && checked.attachments.map(({ fileName }) => fileName)).toEqual([
      'image.png',
      'image (2).png',
      'Image (3).PNG',
      'image (2) (2).png',
      '.env',
      '.env (2)',
    ]);
    const long = `${'ä'.repeat(125)}.txt`;
    const both = checkAttachments([one({ file_name: long }), one({ file_name: long })]);
    const second = both.kind === 'valid' ? both.attachments[1]?.fileName : undefined;
    expect(second).toMatch(/^ä+ \(2\)\.txt$/);
    expect(isFileName(second ?? '')).toBe(true);
  });
});
