import { isMap, isNode, isScalar, isSeq, type Pair, type ParsedNode, type YAMLMap } from 'yaml';

/** `value`: where it begins; `key`: where what names it begins, which is the value itself in a list. */
export type Side = 'value' | 'key';

export class NodeLocator {
  private readonly indexes = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>();

  constructor(private readonly root: ParsedNode | null) {}

  /** Offset of what is at the path; where that is not, of the nearest thing around it. undefined: there is nothing. */
  offsetOf(path: readonly string[], side: Side = 'value'): number | undefined {
    let node: unknown = this.root;
    let offset = startOf(node);
    for (const [index, segment] of path.entries()) {
      const step = this.step(node, segment);
      if (step === undefined) return offset;
      node = step.value;
      const isLast = index === path.length - 1;
      offset =
        (isLast && side === 'key' ? startOf(step.key) : undefined) ?? startOf(node) ?? startOf(step.key) ?? offset;
    }
    return offset;
  }

  /** Whether the path leads to something. */
  private step(node: unknown, segment: string): { readonly key: unknown; readonly value: unknown } | undefined {
    if (isMap(node)) return this.indexOf(node).get(segment);
    if (!isSeq(node) || !/^(?:0|[1-9]\d{0,8})$/.test(segment)) return undefined;
    const index = Number(segment);
    return index < node.items.length ? { key: undefined, value: node.items[index] } : undefined;
  }

  private indexOf(map: YAMLMap): ReadonlyMap<string, Pair> {
    const known = this.indexes.get(map);
    if (known) return known;
    const index = new Map<string, Pair>();
    for (const pair of map.items)
      if (isScalar(pair.key) && typeof pair.key.value === 'string' && !index.has(pair.key.value))
        index.set(pair.key.value, pair);
    this.indexes.set(map, index);
    return index;
  }
}

/** Only of a node with text: an absent value after a colon has none. */
function startOf(node: unknown): number | undefined {
  if (!isNode(node) || !node.range) return undefined;
  const [start, end] = node.range;
  return end > start ? start : undefined;
}
