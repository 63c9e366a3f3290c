import type { Approval } from '#execution/executions';
import { maskSecrets } from '#platform/kernel';
import type { DecisionChoice } from './decision-token.js';

/** A page shows inputs up to this size. */
export const MAX_SHOWN_INPUT_BYTES = 32_768;

/** After three lines of nothing, a reader does not expect more. */
const LONG_SPACE = /(?<![\s\p{Default_Ignorable_Code_Point}\u2800])[\s\p{Default_Ignorable_Code_Point}\u2800]{200}/u;
const EMPTY_LINES = /[\n\r\u2028\u2029](?:[^\S\n\r\u2028\u2029]*(?:\r\n|[\n\r\u2028\u2029])){9}/;

/** Whether a page without a sign-in shows all of what the choice, which is not `deny`, would decide. */
export function isShown({ title, input, options }: Approval, choice: DecisionChoice): boolean {
  const option = choice.kind === 'option' ? (options[choice.index]?.name ?? '') : '';
  return isTextShown(title) && isTextShown(option) && (choice.kind !== 'allow' || isInputShown(input));
}

/** The page masks credentials. */
const isTextShown = (text: string): boolean =>
  maskSecrets(text) === text && !LONG_SPACE.test(text) && !EMPTY_LINES.test(text);

/** The runner leaves out inputs that are too large for a report. */
function isInputShown(input: unknown): boolean {
  if (input === null || input === undefined) return true;
  const text = JSON.stringify(input);
  const isLeftOut = typeof input === 'object' && 'truncated' in input && input.truncated === true;
  return (
    !isLeftOut &&
    Buffer.byteLength(text) <= MAX_SHOWN_INPUT_BYTES &&
    JSON.stringify(maskSecrets(input)) === text &&
    // As the page shows it: nested values are indented.
    !LONG_SPACE.test(JSON.stringify(input, null, 2))
  );
}
