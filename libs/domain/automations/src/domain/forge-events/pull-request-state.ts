import type { PullRequestStatus } from '#domain/runs';
import { valueAt } from '../placeholders.js';
import type { ForgeProvider } from './forge-event.js';
import { textAt, urlAt } from './payload-fields.js';

export interface PullRequestState {
  /** Address of its page. */
  readonly url: string;
  readonly status: PullRequestStatus;
  readonly updatedAt: Date;
}

/** The state in a delivery about a pull request or merge request, whether a trigger can name the event or not. */
export function readPullRequestState(provider: ForgeProvider, kind: string, payload: unknown): PullRequestState | null {
  if (provider === 'github') return kind === 'pull_request' ? stateIn(payload, 'pull_request', githubStatus) : null;
  return textAt(payload, 'object_kind') === 'merge_request'
    ? stateIn(payload, 'object_attributes', gitlabStatus)
    : null;
}

function stateIn(
  payload: unknown,
  key: string,
  statusOf: (request: unknown) => PullRequestStatus | null,
): PullRequestState | null {
  const request = valueAt(payload, [key]);
  const url = urlAt(request, 'html_url') ?? urlAt(request, 'url');
  const status = statusOf(request);
  const updatedAt = dateOf(textAt(request, 'updated_at'));
  return url === null || status === null || updatedAt === null ? null : { url, status, updatedAt };
}

function githubStatus(request: unknown): PullRequestStatus | null {
  if (valueAt(request, ['merged']) === true) return 'merged';
  const state = textAt(request, 'state');
  if (state === 'closed') return 'closed';
  if (state !== 'open') return null;
  return valueAt(request, ['draft']) === true ? 'draft' : 'open';
}

function gitlabStatus(request: unknown): PullRequestStatus | null {
  const isDraft = valueAt(request, ['draft']) === true || valueAt(request, ['work_in_progress']) === true;
  switch (textAt(request, 'state')) {
    case 'merged':
      return 'merged';
    case 'closed':
      return 'closed';
    case 'opened':
    case 'locked':
      return isDraft ? 'draft' : 'open';
    default:
      return null;
  }
}

/** GitLab writes `2026-11-27 14:00:00 UTC` in some versions. */
function dateOf(text: string | null): Date | null {
  const date = new Date(text?.replace(/^(\d{4}-\d\d-\d\d) (\S+) UTC$/, '$1T$2Z') ?? '');
  return Number.isNaN(date.getTime()) ? null : date;
}
