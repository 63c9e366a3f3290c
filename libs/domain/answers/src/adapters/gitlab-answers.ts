import { z } from 'zod';
import { AnswerFailure } from '../domain/answer-failure.js';
import { commentOf, markOf, requestedCommentOf } from '../domain/answer-text.js';
import { type AnsweredRun, type CheckUpdate, REACTION, type ReactionSubject } from '../domain/answer.js';
import type { AnswerPlace, CheckedAnswers, WrittenCheck } from './forge-answers.js';
import { detailOf, type ForgeConnection } from './forge-connection.js';
import { read } from './github-answers.js';

export const GITLAB_HEADERS = { accept: 'application/json' };
const INVALID = 400;
const NOT_FOUND = 404;
const PAGE_SIZE = 100;
const MAX_TEXT = 1_000_000;

const NOTE = z.object({ id: z.number(), body: z.string(), created_at: z.string() });
const MERGE_REQUEST = z.object({ sha: z.string() });

/** Statuses are part of the pipeline: one that has failed would fail it, and start automations for failed pipelines. */
const STATUS_STATES = {
  queued: 'pending',
  in_progress: 'running',
  success: 'success',
  failure: 'canceled',
  cancelled: 'canceled',
} as const;

export class GitlabAnswers implements CheckedAnswers {
  readonly maxText = MAX_TEXT;
  readonly reactsToEnd = false;
  private readonly path: string;

  constructor(
    private readonly connection: ForgeConnection,
    private readonly place: AnswerPlace,
    private readonly publicUrl: string,
  ) {
    const { kind, number } = place;
    this.path = `/projects/{project}/${kind === 'issue' ? 'issues' : 'merge_requests'}/${number}`;
  }

  async react(subject: ReactionSubject): Promise<void> {
    const [kind, id] = subject.split('/');
    const path = kind === 'target' ? this.path : `${this.path}/notes/{note_id}`;
    // Also when it was added before, and for a comment that was deleted.
    await this.send(`POST ${path}/award_emoji`, { name: REACTION, ...(id !== undefined && { note_id: id }) }, [
      NOT_FOUND,
    ]);
  }

  contentOf(run: AnsweredRun, mark: string): string {
    return commentOf(run, mark, { publicUrl: this.publicUrl, max: this.maxText });
  }

  requestedContentOf(runId: string, mark: string, text: string): string {
    return requestedCommentOf(runId, mark, text, { publicUrl: this.publicUrl, max: this.maxText });
  }

  async findComment(runId: string, mark: string, after: Date): Promise<string | null> {
    const text = markOf(runId, mark);
    let found: string | null = null;
    for (let page = 1; ; page += 1) {
      const { data } = await this.send(`GET ${this.path}/notes`, {
        order_by: 'created_at',
        sort: 'desc',
        per_page: PAGE_SIZE,
        page,
      });
      const notes = read(z.array(NOTE), data);
      // The newest ones first; the oldest one with the mark is that of the run.
      for (const { id, body } of notes) if (body.includes(text)) found = String(id);
      const isBefore = notes.some(({ created_at: at }) => Date.parse(at) < after.getTime());
      if (isBefore || notes.length < PAGE_SIZE) return found;
    }
  }

  async createComment(body: string): Promise<string> {
    const { data } = await this.send(`POST ${this.path}/notes`, { body });
    return String(read(NOTE, data).id);
  }

  async updateComment(id: string, body: string): Promise<boolean> {
    const { status } = await this.send(`PUT ${this.path}/notes/{note_id}`, { note_id: id, body }, [NOT_FOUND]);
    return status !== NOT_FOUND;
  }

  async headOf(pullRequest: string): Promise<string> {
    const { data } = await this.send(`GET /projects/{project}/merge_requests/${pullRequest}`, {});
    return read(MERGE_REQUEST, data).sha;
  }

  /** A status is identified by its name. */
  async writeCheck(
    _runId: string,
    sha: string,
    _id: string | null,
    { name, state, url, title }: CheckUpdate,
  ): Promise<WrittenCheck> {
    const { status, data } = await this.send(
      'POST /projects/{project}/statuses/{sha}',
      { sha, state: STATUS_STATES[state], name, target_url: url, description: title },
      [INVALID],
    );
    // The status has the state already.
    if (status === INVALID && !/cannot transition status/i.test(detailOf(data)))
      throw new AnswerFailure('refused', `GitLab rejected the status of the commit (${status}): ${detailOf(data)}`);
    return { id: null, sha };
  }

  private send(route: string, parameters: object, expected?: readonly number[]) {
    return this.connection.send(route, { project: this.place.repository, ...parameters }, expected);
  }
}
