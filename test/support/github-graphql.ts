import { schema as published } from '@octokit/graphql-schema';
import {
  buildSchema,
  defaultFieldResolver,
  graphql,
  type GraphQLFieldResolver,
  type GraphQLOutputType,
  GraphQLError,
  type GraphQLSchema,
  isEnumType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';

export interface GithubPullRequest {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly head: string;
  readonly base: string;
  readonly draft: boolean;
}

export interface GraphqlStore {
  /** `owner/name`: the repository that the token opens. */
  readonly repository: string;
  /** Address of the pages. */
  readonly pages: string;
  readonly pullRequests: readonly GithubPullRequest[];
  readonly addPullRequest: (fields: Omit<GithubPullRequest, 'number'>) => GithubPullRequest;
  readonly addComment: (number: number, body: string) => void;
}

interface Input {
  readonly input: Readonly<Record<string, unknown>>;
}

let schema: GraphQLSchema | undefined;

/** Executes a request by GitHub's published schema: what it does not allow is an error, as in GitHub's answers. */
export async function answerGraphql(text: string, store: GraphqlStore): Promise<object> {
  schema ??= buildSchema(published.idl, { assumeValid: true });
  const { query, variables } = JSON.parse(text) as { query: string; variables?: Record<string, unknown> };
  return graphql({ schema, source: query, variableValues: variables, rootValue: root(store), fieldResolver: resolve });
}

function root({ repository, pages, pullRequests, addPullRequest, addComment }: GraphqlStore): object {
  const [login = '', name = ''] = repository.split('/');
  const owner = { __typename: 'Organization', id: 'O_1', login };
  const id = `R_${name}`;
  const own = { id, name, owner, nameWithOwner: repository, viewerPermission: 'WRITE', url: `${pages}/${repository}` };
  const shown = (one: GithubPullRequest): object => ({
    ...one,
    id: `PR_${name}_${one.number}`,
    author: { __typename: 'Bot', login: 'headrace' },
    state: 'OPEN',
    isDraft: one.draft,
    headRefName: one.head,
    baseRefName: one.base,
    headRepository: own,
    headRepositoryOwner: owner,
    url: `${pages}/${repository}/pull/${one.number}`,
  });
  const find = (number: unknown): object | null => {
    const found = pullRequests.find((one) => one.number === number);
    return found ? shown(found) : null;
  };
  const issue = { id: 'I_3', number: 3, title: 'The text is wrong', body: 'Please fix it.', state: 'OPEN' };
  const whole = {
    ...own,
    __typename: 'Repository',
    description: 'An app',
    hasIssuesEnabled: true,
    defaultBranchRef: { name: 'main' },
    pullRequest: ({ number }: { number: number }) => find(number),
    pullRequests: ({ headRefName: head }: { headRefName?: string }) => {
      const nodes = pullRequests.filter((one) => head === undefined || one.head === head).map(shown);
      return { nodes, totalCount: nodes.length };
    },
    issue: ({ number }: { number: number }) => (number === issue.number ? issue : null),
    issueOrPullRequest: ({ number }: { number: number }) =>
      number === issue.number ? { __typename: 'Issue', ...issue } : find(number),
  };
  return {
    viewer: { login: 'headrace[bot]' },
    repository: (asked: { owner: string; name: string }) => {
      if (`${asked.owner}/${asked.name}` === repository) return whole;
      throw new GraphQLError(`Could not resolve to a Repository with the name '${asked.owner}/${asked.name}'.`);
    },
    createPullRequest: ({ input }: Input) => {
      if (input['repositoryId'] !== id) throw new GraphQLError('Could not resolve to a node with the global id.');
      const created = addPullRequest({
        title: String(input['title']),
        body: typeof input['body'] === 'string' ? input['body'] : '',
        head: String(input['headRefName']),
        base: String(input['baseRefName']),
        draft: input['draft'] === true,
      });
      return { pullRequest: shown(created) };
    },
    addComment: ({ input }: Input) => {
      const [, number] = /_(\d+)$/.exec(String(input['subjectId'])) ?? [];
      addComment(Number(number), String(input['body']));
      return { commentEdge: { node: { url: `${pages}/${repository}/pull/${number}#issuecomment-1` } } };
    },
  };
}

/** Fields that no test is about have the simplest value of their type. */
const resolve: GraphQLFieldResolver<unknown, unknown> = (source, args, context, info) =>
  defaultFieldResolver(source, args, context, info) ?? simplest(info.returnType);

const SCALARS: Readonly<Record<string, unknown>> = { Boolean: false, DateTime: '2026-01-01T00:00:00Z', Int: 0 };

function simplest(type: GraphQLOutputType): unknown {
  if (!isNonNullType(type)) return null;
  const { ofType: inner } = type;
  if (isListType(inner)) return [];
  if (isEnumType(inner)) return inner.getValues()[0]?.value;
  return isObjectType(inner) ? {} : (SCALARS[String(inner)] ?? 'text');
}
