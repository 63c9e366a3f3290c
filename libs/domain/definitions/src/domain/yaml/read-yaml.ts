import {
  Composer,
  type CST,
  type Document,
  isMap,
  isScalar,
  isSeq,
  type ParsedNode,
  type Scalar,
  type YAMLError,
  type YAMLMap,
} from 'yaml';
import { isStorableText } from '#platform/kernel';
import { MAX_DIAGNOSTICS, printable } from '../definition.js';
import { type LexemeBudget, scanYaml, type YamlFault } from './scan-yaml.js';

interface ReadYaml {
  /** null where there is nothing. */
  readonly root: ParsedNode | null;
  /** As JSON; undefined where it would not be what somebody meant. */
  readonly value: unknown;
  readonly faults: readonly YamlFault[];
}

const OPTIONS = { version: '1.2', schema: 'core', merge: false, resolveKnownTags: false, uniqueKeys: false } as const;
/** After these the value is what somebody meant, and the rest of what is wrong with it worth saying. */
const HARMLESS = ['duplicate_key', 'yaml_anchor'];

/** One document of YAML 1.2 that is JSON in another dress. Never throws. */
export function readYaml(text: string, budget: LexemeBudget): ReadYaml {
  const { tokens, faults: scanned } = scanYaml(text, budget);
  if (tokens === null) return { root: null, value: undefined, faults: scanned };
  const document = compose(tokens, text.length);
  const root = document?.contents ?? null;
  const faults = [...scanned, ...syntaxFaults(document?.errors ?? [])];
  const value = new Converter(faults).convert(root);
  const isMeant = faults.every(({ code }) => HARMLESS.includes(code));
  return { root, value: isMeant ? value : undefined, faults };
}

/** Every fault is an Error to the composer: without their stacks, a hundred thousand of them take no seconds. */
function compose(tokens: readonly CST.Token[], end: number): Document.Parsed | undefined {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    const [document] = new Composer(OPTIONS).compose(tokens, true, end);
    return document;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Nodes to JSON. Recursive: documents are not deep by now. */
class Converter {
  constructor(private readonly faults: YamlFault[]) {}

  convert(node: unknown): unknown {
    if (isMap(node)) return this.object(node);
    if (isSeq(node)) return node.items.map((item) => this.convert(item));
    return isScalar(node) ? this.scalar(node) : null;
  }

  private object({ items }: YAMLMap): unknown {
    const entries = new Map<string, unknown>();
    for (const pair of items) {
      const key = this.keyOf(pair.key);
      const value = this.convert(pair.value);
      if (key === undefined) continue;
      if (entries.has(key)) this.fault('duplicate_key', pair.key, `${printable(key)} is given twice here.`);
      else entries.set(key, value);
    }
    // Makes properties of the object's own, whatever they are called.
    return Object.fromEntries(entries);
  }

  private keyOf(key: unknown): string | undefined {
    if (isScalar(key) && typeof key.value === 'string') {
      if (key.value !== '<<' || key.type !== 'PLAIN') return this.text(key, key.value);
      this.fault('yaml_merge_key', key, 'Merge keys (<<) are not supported: write the values where they are needed.');
    } else this.fault('non_string_key', key, 'Keys are text: put it in quotes.');
    return undefined;
  }

  private scalar(node: Scalar): unknown {
    if (typeof node.value === 'string') return this.text(node, node.value);
    if (typeof node.value !== 'number') return node.value;
    if (Number.isFinite(node.value)) return node.value === 0 ? 0 : node.value;
    this.fault('not_json', node, 'Infinity and NaN cannot stand here: they are no values of JSON.');
    return null;
  }

  /** Escapes bring into a value what files themselves cannot hold, and what no database keeps. */
  private text(node: Scalar, value: string): string {
    if (!isStorableText(value))
      this.fault('not_text', node, 'Escapes here make a NUL character or a lone surrogate: neither is text.');
    return value;
  }

  private fault(code: string, node: unknown, message: string): void {
    if (this.faults.length < MAX_DIAGNOSTICS) this.faults.push({ code, offset: startOf(node), message });
  }
}

const startOf = (node: unknown): number => (isScalar(node) || isMap(node) || isSeq(node) ? (node.range?.[0] ?? 0) : 0);

/** One slip makes many errors, of which the first ones help. */
const MAX_SHOWN = 5;

/** Not the messages of the parser: they can repeat the content of the file, which may be a secret by mistake. */
const MESSAGES: Readonly<Partial<Record<YAMLError['code'], string>>> = {
  BAD_DQ_ESCAPE: 'A backslash in double quotes begins an escape, and this is none: double it, or use single quotes.',
  BAD_INDENT: 'The indentation does not fit the lines above.',
  BAD_SCALAR_START: 'Plain text cannot begin with this character: put the value in quotes.',
  BLOCK_AS_IMPLICIT_KEY:
    'A colon inside a value begins another key: put the value in quotes, or the key on a separate line.',
  BLOCK_IN_FLOW: 'Inside brackets, values stand in brackets too.',
  KEY_OVER_1024_CHARS: 'A key has at most 1024 characters.',
  MULTILINE_IMPLICIT_KEY: 'A key stands on one line, followed by a colon.',
  TAB_AS_INDENT: 'Tabs are not allowed as indentation: use spaces.',
};
const OTHERWISE = 'This is not allowed at this place in YAML.';

/** Of a document's errors, one a place. */
function syntaxFaults(errors: readonly YAMLError[]): YamlFault[] {
  const byOffset = new Map<number, YAMLError>();
  for (const error of errors) if (!byOffset.has(error.pos[0])) byOffset.set(error.pos[0], error);
  return [...byOffset.values()]
    .sort((one, other) => one.pos[0] - other.pos[0])
    .slice(0, MAX_SHOWN)
    .map((error) => ({ code: 'yaml_syntax', offset: error.pos[0], message: wordsFor(error) }));
}

function wordsFor({ code, message }: YAMLError): string {
  // Says what is missing, and nothing that stands there.
  if (code === 'MISSING_CHAR') return `${message}.`;
  const bracket = code === 'BAD_INDENT' ? /end with a ([\]}])/.exec(message)?.[1] : undefined;
  if (bracket !== undefined) return `A ${bracket} is missing, or the lines before it are not indented.`;
  return MESSAGES[code] ?? OTHERWISE;
}
