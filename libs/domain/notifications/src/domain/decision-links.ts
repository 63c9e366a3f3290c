import { MASKED } from '#platform/kernel';
import type { DecisionButton } from './formats/chat-message.js';

/** The slashes may be escaped as in JSON, HTML or URLs. */
const LINK = /(decisions(?:\\?\/|%(?:25)*2f|\\u002f|&#(?:x2f|47);|&sol;)+)[\w-]+/gi;
/** Shorter ones are neither a permission, nor enough to guess one. */
const MIN_TOKEN_PART = 16;

/** Receivers may answer with the message that they received, and more people read the log of deliveries than decide. */
export function withoutTokens(body: string, buttons: readonly DecisionButton[]): string {
  const parts = buttons.map(({ url }) => url.slice(url.lastIndexOf('/') + 1).slice(0, MIN_TOKEN_PART));
  return parts
    .reduce((text, part) => text.replace(new RegExp(`${part}[\\w-]*`, 'g'), MASKED), body)
    .replace(LINK, `$1${MASKED}`);
}
