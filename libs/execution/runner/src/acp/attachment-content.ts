import { pathToFileURL } from 'node:url';
import type { ContentBlock } from '@agentclientprotocol/sdk';
import type { PlacedAttachment } from '../workspace/attachments.js';

/** What the agent says it takes in a prompt, besides text and links. */
export interface PromptAbilities {
  readonly image?: boolean | undefined;
  readonly embeddedContext?: boolean | undefined;
}

/** Model providers take pictures of these kinds, of about 5 MB in base64; a larger one the agent may open as a file. */
const IMAGE_TYPES: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const MAX_IMAGE_BYTES = 3_500_000;
/** Longer text is linked: it would fill the model's memory whether it is needed or not. */
const MAX_EMBEDDED_BYTES = 65_536;
const TEXT_TYPES = /^(?:text\/|application\/(?:[a-z0-9.-]+\+)?(?:json|xml|yaml|toml|javascript|x-sh|x-yaml)$)/;

/** A file as a part of a prompt: shown, where the agent can look at it; else a link to where it lies. */
export function attachmentContent({ ref, path, bytes }: PlacedAttachment, abilities: PromptAbilities): ContentBlock {
  const uri = pathToFileURL(path).href;
  const mimeType = ref.mime_type;
  const essence = mimeType.replace(/\s*;.*$/s, '').toLowerCase();
  if (abilities.image === true && IMAGE_TYPES.includes(essence) && bytes.length <= MAX_IMAGE_BYTES)
    return { type: 'image', mimeType: essence, data: bytes.toString('base64'), uri };
  if (abilities.embeddedContext === true && TEXT_TYPES.test(essence) && bytes.length <= MAX_EMBEDDED_BYTES) {
    const text = decode(bytes);
    if (text !== null) return { type: 'resource', resource: { uri, mimeType, text } };
  }
  return { type: 'resource_link', uri, name: ref.file_name, mimeType, size: bytes.length };
}

/** null: it says that it is text and is not, or not in UTF-8. */
function decode(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
