import { parseJson } from '#platform/kernel';

export const MAX_PLACEHOLDERS = 50;
/** UTF-16 units of a quoted value; the complete payload is attached. */
const MAX_SHOWN = 500;

export interface PayloadReference {
  /** As in the prompt, without spaces: `payload.data.issue.title`. */
  readonly expression: string;
  /** Keys and indices from the payload's root. */
  readonly path: readonly (string | number)[];
}

export type PromptPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly value: PayloadReference };

export type ReadPrompt =
  | { readonly kind: 'valid'; readonly parts: readonly PromptPart[] }
  | { readonly kind: 'invalid'; readonly detail: string };

const OPENING = /\{\{\s*payload(?![A-Za-z0-9_$])/g;
const STEP = /\.([A-Za-z_$][A-Za-z0-9_$-]*)|\[(0|[1-9][0-9]{0,8})\]|\[("(?:[^"\\\u0000-\u001f]|\\.)*")\]/y;
const CLOSING = /\s*\}\}/y;

/**
 * Finds `{{ payload.issue.labels[0]["a key"] }}` in the prompt of an automation. Other braces are text: prompts may contain
 * other templates. `invalid`: an incomplete placeholder, or more than 50 different ones.
 */
export function readPrompt(prompt: string): ReadPrompt {
  const parts: PromptPart[] = [];
  const expressions = new Set<string>();
  let end = 0;
  for (const opening of prompt.matchAll(OPENING)) {
    if (opening.index < end) continue;
    const value = readReference(prompt, opening.index + opening[0].length);
    if (value === null) return { kind: 'invalid', detail: faultAt(prompt, opening.index) };
    parts.push({ kind: 'text', text: prompt.slice(end, opening.index) }, { kind: 'value', value });
    expressions.add(value.expression);
    end = value.end;
  }
  if (expressions.size > MAX_PLACEHOLDERS)
    return { kind: 'invalid', detail: `must not exceed ${MAX_PLACEHOLDERS} different placeholders` };
  parts.push({ kind: 'text', text: prompt.slice(end) });
  return { kind: 'valid', parts };
}

function readReference(prompt: string, from: number): (PayloadReference & { end: number }) | null {
  const path: (string | number)[] = [];
  let at = from;
  for (;;) {
    STEP.lastIndex = at;
    const step = STEP.exec(prompt);
    if (!step) break;
    const [whole, name, index, quoted] = step;
    const key = name ?? (index === undefined ? unquote(quoted ?? '') : Number(index));
    if (key === null) return null;
    path.push(key);
    at += whole.length;
  }
  CLOSING.lastIndex = at;
  const closing = CLOSING.exec(prompt);
  return closing && { expression: `payload${prompt.slice(from, at)}`, path, end: at + closing[0].length };
}

function unquote(text: string): string | null {
  const value = parseJson(text);
  return typeof value === 'string' ? value : null;
}

function faultAt(prompt: string, index: number): string {
  const shown = [...prompt.slice(index, index + 60).replace(/\s+/g, ' ')].slice(0, 40).join('');
  return `must write placeholders as {{ payload.key[0]["another key"] }}; this one is invalid: ${shown}`;
}

/** The value at `path` in the payload, own properties only; undefined when it is missing. */
export function valueAt(payload: unknown, path: readonly (string | number)[]): unknown {
  let value = payload;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value) !== (typeof step === 'number') || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

/**
 * A value as one line of JSON that cannot end a quotation, a tag or a code block and contains no line break, truncated to
 * 500 characters.
 */
export function quoteValue(value: unknown): string {
  const text = JSON.stringify(shortened(value, { left: MAX_SHOWN * 2 }));
  const escaped = text.replace(UNQUOTABLE, escapeUnits);
  return escaped.length > MAX_SHOWN ? `${cut(escaped)}… (cut; whole in event-payload.json)` : escaped;
}

/** Angle brackets and backticks end tags and code; the others change the text direction, are invisible, or break lines. */
const UNQUOTABLE =
  /[<>&`\u0000-\u001f\u007f-\u00a0\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

export const escapeUnits = (characters: string): string =>
  characters
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');

/** Truncates without an incomplete escape at the end. */
function cut(escaped: string): string {
  return escaped.slice(0, MAX_SHOWN).replace(/(?:\\(?:u[0-9a-f]{0,3})?|[\ud800-\udbff])$/, '');
}

/** A copy with at most `budget` characters and 20 levels: of a payload of 256 KB only the start is quoted. */
function shortened(value: unknown, budget: { left: number }, depth = 0): unknown {
  if (typeof value === 'string') {
    budget.left -= value.length;
    return value.slice(0, MAX_SHOWN * 2);
  }
  if (typeof value !== 'object' || value === null) {
    budget.left -= 4;
    return value;
  }
  if (depth >= 20) return Array.isArray(value) ? ['…'] : { '…': '…' };
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const item of value) {
      if (budget.left <= 0) break;
      items.push(shortened(item, budget, depth + 1));
    }
    return items;
  }
  const copy: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const key of Object.keys(value)) {
    if (budget.left <= 0) break;
    budget.left -= key.length;
    copy[key.slice(0, MAX_SHOWN)] = shortened((value as Record<string, unknown>)[key], budget, depth + 1);
  }
  return copy;
}
