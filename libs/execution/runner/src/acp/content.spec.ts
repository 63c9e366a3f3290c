import { describe, expect, it } from 'vitest';
import { attachmentContent } from './content.js';

const ALL = { image: true, embeddedContext: true };
const placed = (file_name: string, mime_type: string, content: string | Buffer) => {
  const bytes = Buffer.from(content);
  const ref = { attachment_id: 'a', file_name, mime_type, size_bytes: bytes.length };
  return { ref, path: `/w/tmp/attachments/${file_name}`, bytes };
};
const link = (name: string, mimeType: string, size: number, uriName = name) => ({
  type: 'resource_link',
  uri: `file:///w/tmp/attachments/${uriName}`,
  name,
  mimeType,
  size,
});

describe('a file in a prompt', () => {
  it('is an image for agents that support images, else a link', () => {
    const picture = placed('a.png', 'image/PNG', 'png');
    const uri = 'file:///w/tmp/attachments/a.png';
    expect(attachmentContent(picture, ALL)).toEqual({ type: 'image', mimeType: 'image/png', data: 'cG5n', uri });
    expect(attachmentContent(picture, {})).toEqual(link('a.png', 'image/PNG', 3));
    expect(attachmentContent(placed('a.tiff', 'image/tiff', 'x'), ALL)).toEqual(link('a.tiff', 'image/tiff', 1));
    const large = placed('b.png', 'image/png', Buffer.alloc(3_500_001));
    expect(attachmentContent(large, ALL)).toEqual(link('b.png', 'image/png', 3_500_001));
  });

  it('is embedded text for agents that support it, when it is short text', () => {
    for (const mimeType of ['text/plain; charset=utf-8', 'application/json', 'application/problem+json'])
      expect(attachmentContent(placed('a b.txt', mimeType, 'ä'), ALL)).toEqual({
        type: 'resource',
        resource: { uri: 'file:///w/tmp/attachments/a%20b.txt', mimeType, text: 'ä' },
      });
    expect(attachmentContent(placed('a b.txt', 'text/plain', 'x'), { image: true })).toEqual(
      link('a b.txt', 'text/plain', 1, 'a%20b.txt'),
    );
    for (const content of [Buffer.from([0xff, 0xfe]), Buffer.from('a\0b'), Buffer.alloc(65_537, 0x61)])
      expect(attachmentContent(placed('a', 'text/plain', content), ALL)).toEqual(
        link('a', 'text/plain', content.length),
      );
  });

  it('is a link when it is neither', () => {
    expect(attachmentContent(placed('a.zip', 'application/zip', 'zip'), ALL)).toEqual(
      link('a.zip', 'application/zip', 3),
    );
  });
});
