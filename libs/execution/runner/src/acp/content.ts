import { pathToFileURL } from 'node:url';
import type { ContentBlock, PromptCapabilities } from '@agentclientprotocol/sdk';
import type { ToolContent } from '#execution/runner-protocol';
import { shrinkText } from '../protocol/shrink.js';
import type { PlacedAttachment } from '../workspace/attachments.js';
import { defined, fields, number, text, type Fields } from './fields.js';

/** Longer text is cut in its middle. */
export const MAX_TEXT_BYTES = 32_768;
const MAX_DIFF_TEXT_BYTES = 65_536;
const MAX_ITEMS = 64;

/** A tool call's `content` in our shape; `terminalText` is what its terminal has shown so far. */
export function toolContent(content: readonly unknown[], terminalText: string | undefined): ToolContent[] {
  return content.slice(0, MAX_ITEMS).flatMap((entry): ToolContent[] => {
    const item = fields(entry);
    switch (item['type']) {
      case 'content':
        return [blockContent(fields(item['content']))];
      case 'diff':
        return [diffContent(item)];
      case 'terminal':
        return [{ type: 'terminal', text: shrinkText(terminalText ?? '', MAX_TEXT_BYTES) }];
      default:
        return [];
    }
  });
}

function diffContent(item: Fields): ToolContent {
  const old = item['oldText'];
  return {
    type: 'diff',
    path: text(item['path']) ?? '',
    old_text: typeof old === 'string' ? shrinkText(old, MAX_DIFF_TEXT_BYTES) : null,
    new_text: shrinkText(text(item['newText']) ?? '', MAX_DIFF_TEXT_BYTES),
  };
}

/** Text as it is, everything else as a summary: no binary data is logged. */
function blockContent(block: Fields): ToolContent {
  const resource = fields(block['resource']);
  switch (block['type']) {
    case 'text':
      return { type: 'text', text: shrinkText(text(block['text']) ?? '', MAX_TEXT_BYTES) };
    case 'resource':
      if (typeof resource['text'] === 'string')
        return { type: 'text', text: shrinkText(resource['text'], MAX_TEXT_BYTES) };
      return summary({ uri: resource['uri'], mimeType: resource['mimeType'], data: resource['blob'] });
    default:
      return summary(block);
  }
}

function summary(block: Fields): ToolContent {
  return defined<ToolContent>({
    type: 'resource',
    uri: text(block['uri']),
    mime_type: text(block['mimeType']),
    size_bytes: number(block['size']) ?? base64Bytes(block['data']),
  });
}

/** A message chunk's content as text; an image or a file in a message becomes a short note in brackets. */
export function chunkText(content: Fields): string {
  if (content['type'] === undefined || content['type'] === 'text') return text(content['text']) ?? '';
  const { text: inner, uri, mime_type: mimeType, size_bytes: size } = blockContent(content);
  if (inner !== undefined) return inner;
  const facts = [uri, mimeType, size === undefined ? undefined : `${size} bytes`].filter((fact) => fact !== undefined);
  return `[${[text(content['type']) ?? 'attachment', ...facts].join(', ')}]`;
}

function base64Bytes(data: unknown): number | undefined {
  return typeof data === 'string' ? Math.floor((data.length * 3) / 4) : undefined;
}

/** `rawInput` and `rawOutput`: long strings cut, binary parts summarised, the whole limited. */
export function withoutBinary(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutBinary);
  const record = value as Fields;
  const kind = record['type'];
  const data = record['data'] ?? fields(record['source'])['data'] ?? record['blob'];
  if ((kind === 'image' || kind === 'audio' || record['blob'] !== undefined) && typeof data === 'string') {
    return summary({ ...record, data });
  }
  return Object.fromEntries(Object.entries(record).map(([key, item]) => [key, withoutBinary(item)]));
}

/** Model providers accept these image types up to about 5 MB in base64; a larger one the agent may open as a file. */
const IMAGE_TYPES: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const MAX_IMAGE_BYTES = 3_500_000;
/** Longer text is linked: it would use up the model's context whether it is needed or not. */
const MAX_EMBEDDED_BYTES = 65_536;
const TEXT_TYPES = /^(?:text\/|application\/(?:[a-z0-9.-]+\+)?(?:json|xml|yaml|toml|javascript|x-sh|x-yaml)$)/;

/** A file as a part of a prompt: its content where the agent supports it, else a link. */
export function attachmentContent({ ref, path, bytes }: PlacedAttachment, abilities: PromptCapabilities): ContentBlock {
  const uri = pathToFileURL(path).href;
  const mimeType = ref.mime_type;
  const essence = mimeType.replace(/\s*;.*$/s, '').toLowerCase();
  if (abilities.image === true && IMAGE_TYPES.includes(essence) && bytes.length <= MAX_IMAGE_BYTES)
    return { type: 'image', mimeType: essence, data: bytes.toString('base64'), uri };
  if (abilities.embeddedContext === true && TEXT_TYPES.test(essence) && bytes.length <= MAX_EMBEDDED_BYTES) {
    const text = decodeText(bytes);
    if (text !== null) return { type: 'resource', resource: { uri, mimeType, text } };
  }
  return { type: 'resource_link', uri, name: ref.file_name, mimeType, size: bytes.length };
}

/** null: not UTF-8 text, although its type says so. */
function decodeText(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
