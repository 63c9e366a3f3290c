import { Document, isScalar, type Pair, Scalar, visit } from 'yaml';

/** Values of JSON as YAML that {@link readYaml} reads back: block style, quotes where they are needed, no lines folded. */
export function writeYaml(value: Readonly<Record<string, unknown>>): string {
  if (Object.keys(value).length === 0) return '';
  const document = new Document(value, { version: '1.2', schema: 'core', merge: false, aliasDuplicateObjects: false });
  visit(document, { Pair: (_, pair) => quoteMergeKey(pair) });
  return document.toString({ lineWidth: 0, blockQuote: 'literal', doubleQuotedAsJSON: true });
}

/** Plain, it would be no key of its own. */
function quoteMergeKey({ key }: Pair): void {
  if (isScalar(key) && key.value === '<<') key.type = Scalar.QUOTE_DOUBLE;
}
