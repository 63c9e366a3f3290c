import {
  type ASTNode,
  type DocumentNode,
  Kind,
  OperationTypeNode,
  parse,
  print,
  visit,
} from 'graphql/language/index.js';
import { z } from 'zod';
import { parseJson } from '#platform/kernel';
import { errorText } from '../runner-log.js';
import { RefusedError } from './api-messages.js';
import { isText, markTexts, refuseDeep, UNREADABLE, withMark } from './text-mark.js';

/** What is forwarded of a request. GitLab also accepts variables as a text, and both forges accept further fields. */
const REQUEST = z.object({
  query: z.string(),
  variables: z.record(z.string(), z.unknown()).nullish(),
  operationName: z.string().nullish(),
});
const NO_REQUEST =
  'The body of a GraphQL request must be a JSON object with the string `query`, and if needed the object `variables` and the string `operationName`.';
/** Parsing and printing must not keep the runner from its heartbeats. */
const MAX_TOKENS = 100_000;
/**
 * Automations do not compare the mark with descriptions of labels and releases, and messages of commits. GitHub limits the first to 100
 * characters.
 */
const OTHER_MUTATION =
  /^(?:(?:create|update)Label|label(?:Create|Update)|createCommitOnBranch|commitCreate|release(?:Create|Update))$/;

/**
 * Adds the mark to the texts of a mutation. The document is parsed and printed again, without comments and block strings, so that
 * servers cannot read other texts in it. Throws a RefusedError.
 */
export function markGraphql(body: string): string {
  const { success, data } = REQUEST.safeParse(parseJson(body));
  if (!success) throw new RefusedError(UNREADABLE, NO_REQUEST);
  const { query, variables } = data;
  refuseDeep(variables);
  const document = parseDocument(query);
  const isMutation = document.definitions.some(
    (one) => one.kind === Kind.OPERATION_DEFINITION && one.operation === OperationTypeNode.MUTATION,
  );
  const uses = isMutation ? variablesOf(document) : new Map<string, boolean>();
  const isUnmarked = (one: Visited): boolean =>
    isOther(one) || (isNode(one) && one.kind === Kind.VARIABLE_DEFINITION && !uses.has(one.variable.name.value));
  const printed = print(
    visit(document, {
      StringValue: (node, _key, parent, _path, ancestors) => ({
        ...node,
        block: false,
        value: isMutation && isTextOf(parent, uses) && !ancestors.some(isUnmarked) ? withMark(node.value) : node.value,
      }),
    }),
  );
  return JSON.stringify({ ...data, query: printed, ...(variables && { variables: markVariables(variables, uses) }) });
}

function parseDocument(query: string): DocumentNode {
  try {
    return parse(query, { noLocation: true, maxTokens: MAX_TOKENS });
  } catch (error) {
    throw new RefusedError(UNREADABLE, `The GraphQL document of the request cannot be read: ${errorText(error)}`);
  }
}

type Visited = ASTNode | readonly ASTNode[] | undefined;

const isNode = (one: Visited): one is ASTNode => one !== undefined && 'kind' in one;

const isOther = (one: Visited): boolean =>
  isNode(one) && one.kind === Kind.FIELD && OTHER_MUTATION.test(one.name.value);

/** Whether the value of this node is a text. */
function isTextOf(node: Visited, uses: ReadonlyMap<string, boolean>): boolean {
  if (!isNode(node)) return false;
  if (node.kind === Kind.VARIABLE_DEFINITION) return uses.get(node.variable.name.value) === true;
  return (node.kind === Kind.ARGUMENT || node.kind === Kind.OBJECT_FIELD) && isText(node.name.value);
}

/** The variables that are used, except in other mutations. True: as a text. */
function variablesOf(document: DocumentNode): Map<string, boolean> {
  const uses = new Map<string, boolean>();
  visit(document, {
    // Not its default value, and not the variable as it is declared.
    VariableDefinition: () => false,
    Field: (node) => (isOther(node) ? false : undefined),
    Variable: ({ name: { value: name } }, _key, parent) =>
      void uses.set(name, uses.get(name) === true || isTextOf(parent, uses)),
  });
  return uses;
}

const markVariables = (variables: Readonly<Record<string, unknown>>, uses: ReadonlyMap<string, boolean>): object =>
  Object.fromEntries(
    Object.entries(variables).map(([name, value]) => {
      if (uses.get(name) === true && typeof value === 'string') return [name, withMark(value)];
      return [name, uses.has(name) ? markTexts(value) : value];
    }),
  );
