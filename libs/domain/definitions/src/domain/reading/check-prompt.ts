import type { Diagnostic } from '../definition.js';
import type { PlacedFile } from '../files/check-files.js';
import type { FilePlaces } from './file-places.js';

/** As in the API. */
const MAX_PROMPT_BYTES = 65_536;

/**
 * What is wrong with the text that follows the front matter; null where there is none to follow. An agent may have an empty
 * one: it brings settings alone.
 */
export function checkPrompt({ path, place }: PlacedFile, prompt: string | null, places: FilePlaces): Diagnostic[] {
  if (prompt === null || (place.kind !== 'automation' && place.kind !== 'agent')) return [];
  const say = (code: string, message: string): Diagnostic[] => [{ code, path, ...places.at('/prompt'), message }];
  if (place.kind === 'automation' && prompt.trim() === '')
    return say('empty_prompt', 'The prompt of the runs is missing: it follows the front matter.');
  if (Buffer.byteLength(prompt) > MAX_PROMPT_BYTES)
    return say('prompt_too_long', `A prompt has at most ${MAX_PROMPT_BYTES} bytes.`);
  return [];
}
