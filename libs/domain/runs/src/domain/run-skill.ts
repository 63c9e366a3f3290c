import type { Skill } from '#domain/agents';
import { MAX_CONFIG_BYTES } from './resolve-config.js';
import type { AgentConfig } from '#execution/executions';
import type { RunSkill } from './run.js';

/** A skill that was found for a spec. */
export type ChosenSkill = Omit<Skill, 'path'> & { readonly asked: string };

const MAX_NAME = 256;

/** A full spec, which is how runs store theirs: `owner/repo:path/to/SKILL.md`. */
export const isFullSpec = (spec: string): boolean => /^[^/:\s]+\/[^/:\s]+:(?:.*\/)?SKILL\.md$/s.test(spec);

/**
 * The configuration with its skills: full specs in place of the asked ones, the first skill's name, and behind the base
 * prompt the instructions of all, each once, with their arguments; several with a heading each.
 */
export function applySkills(config: AgentConfig, chosen: readonly [ChosenSkill, ...ChosenSkill[]], given: string) {
  const [first] = chosen;
  const skills = chosen.filter(({ id }, index) => chosen.findIndex((other) => other.id === id) === index);
  const sections: string[] = [];
  for (const { name, body } of skills) {
    const filled = substituteArguments(body, given, MAX_CONFIG_BYTES);
    if (filled.kind === 'too_long') return { kind: 'too_large' as const };
    sections.push(skills.length === 1 ? filled.text : `# Skill: ${name}\n\n${filled.text}`);
  }
  const text = [config.base_prompt ?? '', ...sections].filter((part) => part.trim() !== '').join('\n\n');
  const applied: AgentConfig = {
    ...config,
    ...(text === '' ? {} : { base_prompt: text }),
    name: config.name ?? [...first.name].slice(0, MAX_NAME).join(''),
    skill_spec: first.id,
    skills: skills.map(({ id }) => id),
  };
  return { kind: 'applied' as const, config: applied, skill: toRunSkill(first) };
}

function toRunSkill({ asked, id, name, description, owner, repo, bundledSkillId }: ChosenSkill): RunSkill {
  const specs = new Set([asked, `${owner}/${repo}:${name}`]);
  specs.delete(id);
  return {
    name,
    description,
    ...(bundledSkillId === undefined ? { full_path: id } : { bundled_skill_id: bundledSkillId }),
    specs: [...specs],
  };
}

/**
 * Argument N of a skill, or all of them. Neither behind another `$` or a backslash, nor as the beginning of a longer name
 * or of an amount such as `$1.50`.
 */
const PLACEHOLDER =
  /(?<![$\\])\$(?:ARGUMENTS\[(?<indexed>\d{1,6})\]|(?<all>ARGUMENTS)(?!\w)|(?<short>\d{1,6})(?!\w|[.,]\d))/g;

type Substituted = { readonly kind: 'text'; readonly text: string } | { readonly kind: 'too_long' };

/**
 * The instructions of a skill with its arguments: `$ARGUMENTS` becomes the whole of them as they were typed,
 * `$ARGUMENTS[N]` and `$N` one of them, counted from 0. An index that is missing stays as it is. Arguments are put in as
 * they are: what looks like a placeholder in them is none. `maxLength`: characters that the result may have.
 */
export function substituteArguments(body: string, given: string, maxLength: number): Substituted {
  const parts: string[] = [];
  let [end, length] = [0, 0];
  let split: string[] | null = null;
  const add = (part: string): void => {
    parts.push(part);
    length += part.length;
  };
  for (const match of body.matchAll(PLACEHOLDER)) {
    const { indexed, short } = match.groups ?? {};
    const index = indexed ?? short;
    split ??= index === undefined ? null : splitArguments(given);
    const value = index === undefined ? given : split?.[Number(index)];
    if (value === undefined) continue;
    add(body.slice(end, match.index));
    add(value);
    if (length > maxLength) return { kind: 'too_long' };
    end = match.index + match[0].length;
  }
  add(body.slice(end));
  return length > maxLength ? { kind: 'too_long' } : { kind: 'text', text: parts.join('') };
}

/**
 * Words as a shell reads them, made for prose: quotes count at the beginning of a word, behind `=` and behind other
 * quotes, so that the apostrophe of "don't" is none; one that is never closed stands for itself. A backslash takes the
 * meaning from a space, a quote or another backslash, and is itself in front of everything else.
 */
export function splitArguments(given: string): string[] {
  const words: string[] = [];
  /** Quotes that nothing closes any more: looked for once, however many follow. */
  const unclosed = new Set<string>();
  let [word, isWord, mayQuote] = ['', false, true];
  const take = (text: string, quoteMayFollow: boolean): void => {
    [word, isWord, mayQuote] = [word + text, true, quoteMayFollow];
  };
  for (let at = 0; at < given.length; at += 1) {
    const character = given.charAt(at);
    const next = given.charAt(at + 1);
    const isQuote = mayQuote && (character === '"' || character === "'") && !unclosed.has(character);
    const quoted = isQuote ? readQuoted(given, at) : null;
    if (isQuote && !quoted) unclosed.add(character);
    if (quoted) {
      take(quoted.text, true);
      at = quoted.last;
    } else if (/\s/.test(character)) {
      if (isWord) words.push(word);
      [word, isWord, mayQuote] = ['', false, true];
    } else if (character === '\\' && /[\s"'\\]/.test(next)) {
      take(next, false);
      at += 1;
    } else {
      take(character, character === '=');
    }
  }
  return isWord ? [...words, word] : words;
}

/** The text between the quote at `start` and the one that closes it; null when none does. */
function readQuoted(given: string, start: number): { readonly text: string; readonly last: number } | null {
  const quote = given.charAt(start);
  let text = '';
  for (let at = start + 1; at < given.length; at += 1) {
    const character = given.charAt(at);
    if (character === quote) return { text, last: at };
    const isEscape = quote === '"' && character === '\\' && /["\\]/.test(given.charAt(at + 1));
    text += isEscape ? given.charAt(at + 1) : character;
    if (isEscape) at += 1;
  }
  return null;
}
