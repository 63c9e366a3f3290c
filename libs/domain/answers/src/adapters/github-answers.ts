import { z } from 'zod';
import { AnswerFailure } from '../domain/answer-failure.js';
import { commentOf, markOf, requestedCommentOf } from '../domain/answer-text.js';
import { type AnsweredRun, type CheckUpdate, isFinal, REACTION, type ReactionSubject } from '../domain/answer.js';
import type { AnswerPlace, CheckedAnswers, WrittenCheck } from './forge-answers.js';
import type { ForgeConnection } from './forge-connection.js';

export const GITHUB_HEADERS = {
  accept: 'application/vnd.github+json',
  // The newest version that GitHub Enterprise Server and GitHub have in common.
  'x-github-api-version': '2022-11-28',
};
const NOT_FOUND = 404;
const GONE = 410;
const PAGE_SIZE = 100;
const MAX_TEXT = 65_536;
const MAX_DESCRIPTION = 140;

const COMMENT = z.object({ id: z.number(), body: z.string().optional() });
const PULL_REQUEST = z.object({ head: z.object({ sha: z.string() }) });
const CHECK_RUN = z.object({ id: z.number(), external_id: z.string().nullable().optional() });
const CHECK_RUNS = z.object({ check_runs: z.array(CHECK_RUN) });

const STATUS_STATES = {
  queued: 'pending',
  in_progress: 'pending',
  success: 'success',
  failure: 'failure',
  cancelled: 'error',
} as const;

export class GithubAnswers implements CheckedAnswers {
  readonly maxText = MAX_TEXT;
  readonly reactsToEnd = false;
  private readonly place: { readonly owner: string; readonly repo: string };
  private readonly number: number;

  /** `isApp`: only GitHub Apps may write check runs; users write statuses. */
  constructor(
    private readonly connection: ForgeConnection,
    { repository, number }: AnswerPlace,
    private readonly isApp: boolean,
    private readonly publicUrl: string,
  ) {
    const [owner = '', repo = ''] = repository.split('/');
    this.place = { owner, repo };
    this.number = Number(number);
  }

  async react(subject: ReactionSubject): Promise<void> {
    const [kind, id] = subject.split('/');
    const content = REACTION;
    // 200 for one that exists. A comment that was deleted needs none.
    if (kind === 'target')
      await this.send('POST /repos/{owner}/{repo}/issues/{issue_number}/reactions', {
        issue_number: this.number,
        content,
      });
    else {
      const route = `POST /repos/{owner}/{repo}/${kind === 'comment' ? 'issues' : 'pulls'}/comments/{comment_id}/reactions`;
      await this.send(route, { comment_id: Number(id), content }, [NOT_FOUND]);
    }
  }

  contentOf(run: AnsweredRun, mark: string): string {
    return commentOf(run, mark, { publicUrl: this.publicUrl, max: this.maxText });
  }

  requestedContentOf(runId: string, mark: string, text: string): string {
    return requestedCommentOf(runId, mark, text, { publicUrl: this.publicUrl, max: this.maxText });
  }

  async findComment(runId: string, mark: string, after: Date): Promise<string | null> {
    const text = markOf(runId, mark);
    for (let page = 1; ; page += 1) {
      const { data } = await this.send('GET /repos/{owner}/{repo}/issues/{issue_number}/comments', {
        issue_number: this.number,
        since: after.toISOString(),
        per_page: PAGE_SIZE,
        page,
      });
      // In the order of their creation.
      const comments = read(z.array(COMMENT), data);
      const found = comments.find(({ body }) => body?.includes(text));
      if (found) return String(found.id);
      if (comments.length < PAGE_SIZE) return null;
    }
  }

  async createComment(body: string): Promise<string> {
    const { data } = await this.send('POST /repos/{owner}/{repo}/issues/{issue_number}/comments', {
      issue_number: this.number,
      body,
    });
    return String(read(COMMENT, data).id);
  }

  async updateComment(id: string, body: string): Promise<boolean> {
    const { status } = await this.send(
      'PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}',
      { comment_id: Number(id), body },
      [NOT_FOUND, GONE],
    );
    return status < NOT_FOUND;
  }

  async headOf(pullRequest: string): Promise<string> {
    const { data } = await this.send('GET /repos/{owner}/{repo}/pulls/{pull_number}', {
      pull_number: Number(pullRequest),
    });
    return read(PULL_REQUEST, data).head.sha;
  }

  async writeCheck(runId: string, sha: string, id: string | null, update: CheckUpdate): Promise<WrittenCheck> {
    if (!this.isApp) return this.writeStatus(sha, update);
    const { name, state, url, title, summary } = update;
    const fields = {
      name,
      details_url: url,
      external_id: runId,
      ...(isFinal(update) ? { status: 'completed', conclusion: state } : { status: state }),
      output: { title, summary },
    };
    const known = id ?? (await this.findCheck(runId, sha, name));
    const { data } =
      known === null
        ? await this.send('POST /repos/{owner}/{repo}/check-runs', { head_sha: sha, ...fields })
        : await this.send('PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}', {
            check_run_id: Number(known),
            ...fields,
          });
    return { id: String(read(CHECK_RUN, data).id), sha };
  }

  private async findCheck(runId: string, sha: string, name: string): Promise<string | null> {
    for (let page = 1; ; page += 1) {
      const { data } = await this.send('GET /repos/{owner}/{repo}/commits/{ref}/check-runs', {
        ref: sha,
        check_name: name,
        filter: 'all',
        per_page: PAGE_SIZE,
        page,
      });
      const { check_runs: found } = read(CHECK_RUNS, data);
      const own = found.find(({ external_id: external }) => external === runId);
      if (own) return String(own.id);
      if (found.length < PAGE_SIZE) return null;
    }
  }

  /** A later status with the same context replaces it. */
  private async writeStatus(sha: string, { name, state, url, title }: CheckUpdate): Promise<WrittenCheck> {
    await this.send('POST /repos/{owner}/{repo}/statuses/{sha}', {
      sha,
      state: STATUS_STATES[state],
      target_url: url,
      description: title.slice(0, MAX_DESCRIPTION),
      context: name,
    });
    return { id: null, sha };
  }

  private send(route: string, parameters: object, expected?: readonly number[]) {
    return this.connection.send(route, { ...this.place, ...parameters }, expected);
  }
}

export function read<Value>(schema: z.ZodType<Value>, data: unknown): Value {
  const parsed = schema.safeParse(data);
  if (parsed.success) return parsed.data;
  throw new AnswerFailure('temporary', 'The server sent a response without the expected fields.');
}
