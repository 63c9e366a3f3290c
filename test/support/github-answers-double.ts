type Json = Record<string, unknown>;
interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Record<string, string>;
}

export interface GithubComment {
  readonly id: number;
  readonly number: number;
  body: string;
}
export interface GithubCheckRun {
  readonly id: number;
  readonly head_sha: string;
  readonly external_id: string;
  readonly name: string;
  status: string;
  conclusion?: string;
  details_url: string;
  output: { title: string; summary: string };
}

const NOT_FOUND: Answer = { status: 404, body: { message: 'Not Found' } };
const FORBIDDEN: Answer = { status: 403, body: { message: 'Resource not accessible by integration' } };

/** Comments, reactions, check runs and statuses of a repository on GitHub. */
export class GithubAnswersDouble {
  readonly comments: GithubComment[] = [];
  /** `issues/1`, `issues/comments/5`. */
  readonly reactions: string[] = [];
  readonly checkRuns: GithubCheckRun[] = [];
  readonly statuses: (Json & { readonly sha: string })[] = [];
  /** How often a comment was created or edited. */
  writes = 0;
  /** Paths to which the credential may not write. */
  forbidden: RegExp | null = null;
  private lastId = 1000;

  constructor(private readonly exampleOf: (name: string) => Json) {}

  /** Null: another operation. */
  respond(
    method: string,
    path: string,
    parts: readonly string[],
    query: URLSearchParams,
    input: Json | null,
    isApp: boolean,
  ): Answer | null {
    if (method !== 'GET' && this.forbidden?.test(path)) return FORBIDDEN;
    // After `/repos/OWNER/NAME`.
    if (path.endsWith('/reactions')) return this.react(parts.slice(4, -1).join('/'), input);
    if (path.endsWith('/issues/{issue_number}/comments')) return this.ofIssue(method, Number(parts[5]), query, input);
    if (path.endsWith('/issues/comments/{comment_id}')) return this.edit(Number(parts[6]), input);
    if (path.includes('/check-runs') && !path.endsWith('/annotations'))
      return isApp ? this.check(method, path, parts, query, input) : appNeeded();
    if (path.endsWith('/statuses/{sha}')) {
      this.statuses.push({ ...input, sha: parts[5] ?? '' });
      return { status: 201, body: { ...this.exampleOf('status'), ...input } };
    }
    return null;
  }

  add(number: number, body: string): GithubComment {
    const comment = { id: (this.lastId += 1), number, body };
    this.comments.push(comment);
    this.writes += 1;
    return comment;
  }

  private react(subject: string, input: Json | null): Answer {
    const isNew = !this.reactions.includes(subject);
    if (isNew) this.reactions.push(subject);
    return { status: isNew ? 201 : 200, body: { ...this.exampleOf('reaction'), ...input } };
  }

  private ofIssue(method: string, number: number, query: URLSearchParams, input: Json | null): Answer {
    if (method === 'POST') return { status: 201, body: this.shown(this.add(number, String(input?.['body']))) };
    const page = Number(query.get('page') ?? 1);
    const size = Number(query.get('per_page') ?? 30);
    const found = this.comments.filter((one) => one.number === number).slice((page - 1) * size, page * size);
    return { status: 200, body: found.map((one) => this.shown(one)) };
  }

  private edit(id: number, input: Json | null): Answer {
    const comment = this.comments.find((one) => one.id === id);
    if (!comment) return NOT_FOUND;
    comment.body = String(input?.['body']);
    this.writes += 1;
    return { status: 200, body: this.shown(comment) };
  }

  private check(
    method: string,
    path: string,
    parts: readonly string[],
    query: URLSearchParams,
    input: Json | null,
  ): Answer {
    if (path.endsWith('/commits/{ref}/check-runs')) {
      const found = this.checkRuns.filter((one) => one.head_sha === parts[5] && one.name === query.get('check_name'));
      return { status: 200, body: { total_count: found.length, check_runs: found.map((one) => this.shownCheck(one)) } };
    }
    if (method === 'POST') {
      const created = { id: (this.lastId += 1), ...input } as unknown as GithubCheckRun;
      this.checkRuns.push(created);
      return { status: 201, body: this.shownCheck(created) };
    }
    const known = this.checkRuns.find(({ id }) => id === Number(parts[5]));
    if (!known) return NOT_FOUND;
    delete known.conclusion;
    Object.assign(known, input);
    return { status: 200, body: this.shownCheck(known) };
  }

  private shown({ id, body }: GithubComment): Json {
    return { ...this.exampleOf('issue-comment'), id, body };
  }

  private shownCheck({ output, ...check }: GithubCheckRun): Json {
    const example = this.exampleOf('check-run');
    return { ...example, conclusion: null, ...check, output: { ...(example['output'] as Json), ...output } };
  }
}

/** GitHub rejects users and their tokens. */
const appNeeded = (): Answer => ({ status: 403, body: { message: 'You must authenticate via a GitHub App.' } });
