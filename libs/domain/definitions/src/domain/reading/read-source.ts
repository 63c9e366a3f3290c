import type { ParsedNode } from 'yaml';
import { findFrontMatter } from '#platform/kernel';
import type { PlacedFile } from '../files/check-files.js';
import { SourceText } from '../files/source-text.js';
import { readYaml } from '../yaml/read-yaml.js';
import type { LexemeBudget, YamlFault } from '../yaml/scan-yaml.js';

/** A file taken apart: its YAML, and what follows the front matter. Offsets count from the beginning of `text`. */
export interface Source {
  readonly text: SourceText;
  /** Where its YAML begins, to which offsets of `root` are relative. */
  readonly yamlStart: number;
  readonly root: ParsedNode | null;
  /** As JSON; undefined where it was not understood. */
  readonly value: unknown;
  /** What follows the front matter; null where there is none. */
  readonly body: { readonly start: number; readonly text: string } | null;
  readonly faults: readonly YamlFault[];
}

export function readSource({ text: content, place }: PlacedFile, budget: LexemeBudget): Source {
  const text = new SourceText(content);
  if (place.kind === 'factory' || place.kind === 'webhook') return sourceOf(text, 0, text.text.length, null, budget);
  const found = findFrontMatter(text.text);
  if (found.kind === 'found') {
    const body = { start: found.body, text: text.text.slice(found.body) };
    return sourceOf(text, found.start, found.end, body, budget);
  }
  const none = { text, yamlStart: 0, root: null, body: null };
  if (found.kind === 'missing' && place.kind === 'skill') return { ...none, value: {}, faults: [] };
  return { ...none, value: undefined, faults: [{ offset: 0, ...withoutFrontMatter(found.kind) }] };
}

function sourceOf(text: SourceText, start: number, end: number, body: Source['body'], budget: LexemeBudget): Source {
  const { root, value, faults } = readYaml(text.text.slice(start, end), budget);
  return {
    text,
    yamlStart: start,
    root,
    // Nothing between the fences, and nothing in a file, is a mapping without keys.
    value: value === null && isEmpty(root) ? {} : value,
    body,
    faults: faults.map((fault) => ({ ...fault, offset: fault.offset + start })),
  };
}

/** Nothing that takes room: what stands there as `null` does. */
const isEmpty = (root: ParsedNode | null): boolean => !root || root.range[0] === root.range[1];

const withoutFrontMatter = (kind: 'missing' | 'unclosed'): { code: string; message: string } =>
  kind === 'missing'
    ? {
        code: 'missing_front_matter',
        message: 'The file begins with a line of ---, then YAML, then another line of ---.',
      }
    : { code: 'unclosed_front_matter', message: 'The front matter that begins here is not closed by a line of ---.' };
