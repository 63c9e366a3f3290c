import { isObject, parseJson } from '#platform/kernel';

interface Named {
  /** `owner/name`. */
  readonly name: string;
  /** Its credential may be used for GraphQL. */
  readonly hasGraphql: boolean;
}

const ARGUMENTS = /\brepository\s*\(\s*owner:\s*"([^"]{1,100})",?\s*name:\s*"([^"]{1,100})"/g;
/** In a document as `markGraphql` prints it: no other line begins so. */
const OPERATIONS = /^(query|mutation)(?: (\w{1,100}))?/gm;
const IDS = /"id":\s?"([^"\\]{1,200})"/g;
const MAX_IDS = 5_000;

export interface GraphqlTarget<Repository> {
  /** A text: why no repository is chosen. */
  readonly repository: Repository | string;
  /** Such as `mutation PullRequestCreate`. */
  readonly operation: string;
}

/**
 * Finds out with which credential a request is sent: what it may do is decided by the server. Changes name objects by ids only, so the
 * ids in the answers of each repository are remembered.
 */
export class GraphqlTargets<Repository extends Named> {
  private readonly ids = new Map<string, Repository>();
  private readonly usable: readonly Repository[];

  constructor(private readonly repositories: readonly Repository[]) {
    this.usable = repositories.filter(({ hasGraphql }) => hasGraphql);
  }

  find(body: string): GraphqlTarget<Repository> {
    const request = parseJson(body);
    const { query, variables, operationName } = isObject(request) ? request : {};
    const text = typeof query === 'string' ? query : '';
    const operations = [...text.matchAll(OPERATIONS)];
    const [, kind = 'query', name = ''] = operations.find(([, , one]) => one === operationName) ?? operations[0] ?? [];
    const given = isObject(variables) ? variables : {};
    return { repository: this.choose(text, kind, given), operation: `${kind} ${name}`.trim() };
  }

  /** False: there is nothing to choose, so answers need not be read. */
  get needsIds(): boolean {
    return this.usable.length > 1;
  }

  learn(repository: Repository, answer: string): void {
    for (const [, id = ''] of answer.matchAll(IDS)) {
      this.ids.delete(id);
      this.ids.set(id, repository);
    }
    for (const id of this.ids.keys()) {
      if (this.ids.size <= MAX_IDS) return;
      this.ids.delete(id);
    }
  }

  private choose(text: string, kind: string, variables: Readonly<Record<string, unknown>>): Repository | string {
    const named = namesIn(text, variables);
    const isNamed = ({ name }: Named): boolean => named.includes(name.toLowerCase());
    const found = this.usable.find(isNamed);
    if (found) return found;
    if (named.length > 0 && !this.repositories.some(isNamed))
      return `${named.join(', ')} is not a repository of this run.`;
    const [first, ...others] = this.usable;
    if (first === undefined || named.length > 0) return NO_GRAPHQL;
    if (others.length === 0 || kind !== 'mutation') return first;
    const values = JSON.stringify([text, variables]);
    const known = [...this.ids].find(([id]) => values.includes(id));
    return known?.[1] ?? SEVERAL;
  }
}

const NO_GRAPHQL = [
  'This request is GraphQL, which cannot be limited to the repositories of the run, and the credential of the repository is a token that may open others.',
  'Use the REST API (`gh api repos/OWNER/NAME/...`), or the tool `create_pull_request` of the run.',
  'An environment with `github_app_id` or `"api_access": "token"` for the repository allows GraphQL.',
].join(' ');
const SEVERAL =
  'The run has several repositories, and the request does not say which one it is about. Read the object first.';

function namesIn(text: string, variables: Readonly<Record<string, unknown>>): string[] {
  const { owner, name, repo, repository = name ?? repo, projectPath, fullPath = projectPath } = variables;
  const literal = [...text.matchAll(ARGUMENTS)].map(([, first = '', second = '']) => `${first}/${second}`);
  const given = typeof owner === 'string' && typeof repository === 'string' ? [`${owner}/${repository}`] : [];
  const onGitlab = typeof fullPath === 'string' ? [fullPath] : [];
  return [...given, ...onGitlab, ...literal].map((one) => one.toLowerCase());
}
