import type { ParsedNode } from 'yaml';
import { findFrontMatter, parsePointer } from '#platform/kernel';
import type { ResourceKind, SourcePlaces } from '../definition.js';
import type { PlacedFile } from '../files/check-files.js';
import { type Position, SourceText } from '../files/source-text.js';
import { NodeLocator, type Side } from '../yaml/locate.js';
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

/** Nothing was written; a written `null` is not empty. */
const isEmpty = (root: ParsedNode | null): boolean => !root || root.range[0] === root.range[1];

const withoutFrontMatter = (kind: 'missing' | 'unclosed'): { code: string; message: string } =>
  kind === 'missing'
    ? {
        code: 'missing_front_matter',
        message: 'The file begins with a line of ---, then YAML, then another line of ---.',
      }
    : { code: 'unclosed_front_matter', message: 'The front matter that begins here is not closed by a line of ---.' };

const WIRE_NAMES: readonly (readonly [wire: RegExp, file: string])[] = [
  [/^\/agent_config\/model_id/, '/model'],
  [/^\/agent_config\/environment_id/, '/environmentId'],
  [/^\/agent_config\/worker_host/, '/workerHost'],
  [/^\/agent_config\/harness.*/, '/harness'],
  [/^\/agent_config\/mcp_servers/, '/mcpServers'],
  [/^\/agent_config.*/, ''],
  [/^\/agent_identity_uid/, '/agent'],
  [/^\/concurrency\/max_followups/, '/concurrency/maxFollowups'],
  [/^\/concurrency\/delay_seconds/, '/concurrency/delaySeconds'],
  [/^\/event_repository/, '/eventRepository'],
];

/** The pointer into the file of an automation for a pointer into its representation in the API. */
export const filePointer = (pointer: string): string =>
  WIRE_NAMES.reduce((name, [wire, file]) => name.replace(wire, file), pointer);

export class FilePlaces {
  private readonly nodes: NodeLocator;

  constructor(
    private readonly source: Source,
    private readonly kind: ResourceKind,
  ) {
    this.nodes = new NodeLocator(source.root);
  }

  /** Of what a pointer means, by its name in the file or in the API. */
  at(pointer: string): Position {
    const path = parsePointer(filePointer(pointer));
    if (path[0] === 'prompt' && this.source.body) return this.position(promptStart(this.source.body));
    // The path is the name.
    if (path[0] === 'name' && this.kind !== 'factory' && this.kind !== 'skill') return { line: 1, column: 1 };
    return this.of(path, 'value');
  }

  of(path: readonly string[], side: Side): Position {
    return this.position(this.source.yamlStart + (this.nodes.offsetOf(path, side) ?? 0));
  }

  position(offset: number): Position {
    return this.source.text.position(offset);
  }
}

/** The first line with something on it; the line after the fence where there is none. */
function promptStart({ start, text }: { readonly start: number; readonly text: string }): number {
  const blank = /^(?:[ \t]*\r?\n)*/.exec(text)?.[0].length ?? 0;
  return blank >= text.trimEnd().length ? start : start + blank;
}

/** Of all files; line 1 of one that is not there. */
export function placesIn(files: ReadonlyMap<string, FilePlaces>): SourcePlaces {
  return { at: (path, pointer) => files.get(path)?.at(pointer) ?? { line: 1, column: 1 } };
}
