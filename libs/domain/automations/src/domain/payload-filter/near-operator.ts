import { type Operator, OPERATORS } from './filter.js';

/** Letters alone: so `notIn`, `not-in` and `$in` are spelled like an operator. */
const SPELLINGS: Readonly<Record<Operator, readonly string[]>> = {
  in: ['in', 'inn', 'iin'],
  not_in: ['notin', 'nin', 'isnotin'],
  exists: ['exists', 'exist', 'existing'],
};
/** `in` is too short for slips: `id`, `is` and `on` are good names of payload keys. */
const SLIPS: readonly Operator[] = ['not_in', 'exists'];
const MAX_LENGTH = 16;

/** The operator that a key looks like without being one. */
export function nearOperator(key: string): Operator | undefined {
  if (key.length > MAX_LENGTH) return undefined;
  const word = key.toLowerCase();
  const letters = [...word].filter((letter) => letter >= 'a' && letter <= 'z').join('');
  const spelled = OPERATORS.find((operator) => SPELLINGS[operator].includes(letters));
  return spelled ?? SLIPS.find((operator) => isOneSlip(word, operator));
}

/** Whether one letter is missing, too many, another one, or swapped with its neighbour. */
function isOneSlip(word: string, meant: string): boolean {
  if (Math.abs(word.length - meant.length) > 1) return false;
  let start = 0;
  while (start < word.length && word[start] === meant[start]) start += 1;
  const [rest, wanted] = [word.slice(start), meant.slice(start)];
  const isSwapped = rest[0] === wanted[1] && rest[1] === wanted[0] && rest.slice(2) === wanted.slice(2);
  return (
    rest.slice(1) === wanted.slice(1) ||
    rest.slice(1) === wanted ||
    rest === wanted.slice(1) ||
    (isSwapped && rest !== '')
  );
}
