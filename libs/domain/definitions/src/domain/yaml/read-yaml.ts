import {
  Composer,
  type CST,
  type Document,
  isMap,
  isScalar,
  isSeq,
  type ParsedNode,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import { isStorableText } from '#platform/kernel';
import { MAX_DIAGNOSTICS, printable } from '../diagnostics.js';
import { type LexemeBudget, scanYaml, type YamlFault } from './scan-yaml.js';
import { syntaxFaults } from './syntax-faults.js';

export interface ReadYaml {
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
