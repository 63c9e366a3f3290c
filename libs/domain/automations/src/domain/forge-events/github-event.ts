import { CHECK_NAME_PREFIX } from '#execution/runner-protocol';
import { quoteValue, valueAt } from '../placeholders.js';
import {
  type ForgeEvent,
  type ForgeEventName,
  type ForgeTarget,
  FORK_REFUSAL,
  UNKNOWN_ASSOCIATION,
  WITHOUT_DETAILS,
} from './forge-event.js';
import { changedPaths, hostAt, isMarked, listAt, numberAt, textAt, textsAt, urlAt } from './payload-fields.js';

/** By the header `X-GitHub-Event` and the `action` of the payload. */
const EVENTS: Readonly<Record<string, ForgeEventName>> = {
  'issues.opened': 'issue_opened',
  'issues.reopened': 'issue_opened',
  'issues.labeled': 'issue_labeled',
  'issues.assigned': 'issue_assigned',
  'issue_comment.created': 'issue_commented',
  'pull_request.opened': 'pull_request_opened',
  'pull_request.reopened': 'pull_request_opened',
  'pull_request.ready_for_review': 'pull_request_opened',
  'pull_request.labeled': 'pull_request_labeled',
  'pull_request.synchronize': 'pull_request_updated',
  'pull_request.closed': 'pull_request_closed',
  'pull_request_review.submitted': 'pull_request_reviewed',
  'pull_request_review_comment.created': 'pull_request_review_commented',
  'check_run.completed': 'check_failed',
  'workflow_run.completed': 'workflow_failed',
  'release.published': 'release_published',
};
/** What only people with rights can cause; comments, for example, start workflows for everybody. */
const TRUSTED_WORKFLOW_EVENTS = [
  'push',
  'pull_request',
  'merge_group',
  'schedule',
  'workflow_dispatch',
  'repository_dispatch',
  'release',
  'deployment',
];
const FAILURES: ReadonlySet<unknown> = new Set(['failure', 'timed_out', 'startup_failure']);
const BRANCH = 'refs/heads/';
const TAG = 'refs/tags/';

/** The header with which GitHub sends an event. */
export function githubKindOf(event: ForgeEventName): string {
  if (event === 'pull_request_commented') return 'issue_comment';
  const [key = 'push'] = Object.keys(EVENTS).filter((known) => EVENTS[known] === event);
  return key.split('.')[0] ?? key;
}

/** Null when the delivery is no event that a trigger can name. */
export function readGithubEvent(kind: string, payload: unknown): ForgeEvent | null {
  const repository = textAt(payload, 'repository', 'full_name');
  if (repository === null) return null;
  const event = nameOf(kind, payload);
  const specific = event && specificFields(event, payload);
  if (event === null || specific === null) return null;
  const sender = textAt(payload, 'sender', 'login') ?? '';
  return {
    event,
    host: hostAt(payload, 'repository', 'html_url'),
    repository,
    sender: { name: sender, isBot: textAt(payload, 'sender', 'type') === 'Bot' },
    ...WITHOUT_DETAILS,
    ...specific,
  };
}

function nameOf(kind: string, payload: unknown): ForgeEventName | null {
  if (kind === 'push') return pushName(payload);
  const event = EVENTS[`${kind}.${textAt(payload, 'action') ?? ''}`] ?? null;
  // GitHub sends comments on pull requests as comments on issues.
  if (event === 'issue_commented' && isPullRequest(payload)) return 'pull_request_commented';
  return event;
}

const isPullRequest = (payload: unknown): boolean => valueAt(payload, ['issue', 'pull_request', 'url']) !== undefined;

function pushName(payload: unknown): ForgeEventName | null {
  if (valueAt(payload, ['deleted']) === true) return null;
  const ref = textAt(payload, 'ref') ?? '';
  if (ref.startsWith(BRANCH)) return 'branch_pushed';
  return ref.startsWith(TAG) && valueAt(payload, ['created']) === true ? 'tag_pushed' : null;
}

type SpecificFields = Partial<ForgeEvent> & Pick<ForgeEvent, 'target'>;

function specificFields(event: ForgeEventName, payload: unknown): SpecificFields | null {
  switch (event) {
    case 'issue_opened':
    case 'issue_labeled':
    case 'issue_assigned':
      return issueFields(event, payload, changeOf(event, payload, 'issue'));
    case 'issue_commented':
    case 'pull_request_commented':
      return issueFields(event, payload, writingOf(payload, 'comment'));
    case 'pull_request_reviewed':
      return pullRequestFields(event, payload, writingOf(payload, 'review'));
    case 'pull_request_review_commented':
      return pullRequestFields(event, payload, writingOf(payload, 'comment'));
    case 'pull_request_opened':
    case 'pull_request_labeled':
      return pullRequestFields(event, payload, changeOf(event, payload, 'pull_request'));
    case 'pull_request_updated':
      return pullRequestFields(event, payload, pushOf(event, payload));
    case 'pull_request_closed':
      return pullRequestFields(event, payload, closeOf(event, payload));
    case 'check_failed':
      // A run that has failed is no reason for another one.
      if (textAt(payload, 'check_run', 'name')?.startsWith(CHECK_NAME_PREFIX) === true) return null;
      return failureFields(payload, 'check_run', ['check_run', 'check_suite', 'head_branch']);
    case 'workflow_failed':
      return failureFields(payload, 'workflow_run', ['workflow_run', 'head_branch']);
    case 'branch_pushed':
    case 'tag_pushed':
      return pushFields(payload);
    case 'release_published': {
      const tag = textAt(payload, 'release', 'tag_name');
      return tag === null ? null : { target: tagTarget(tag, urlAt(payload, 'release', 'html_url')), tag };
    }
  }
}

/** Who has caused an event, and what that person has written. */
type Cause = Pick<ForgeEvent, 'association' | 'text' | 'isOfRun'>;

const associationIn = (payload: unknown, of: 'issue' | 'comment' | 'review' | 'pull_request'): string =>
  textAt(payload, of, 'author_association') ?? UNKNOWN_ASSOCIATION;

/** A comment or a review, whose author is the sender. */
function writingOf(payload: unknown, of: 'comment' | 'review'): Cause {
  const text = textAt(payload, of, 'body');
  return { text, association: associationIn(payload, of), isOfRun: isMarked(text) };
}

/** Something was opened or changed. Only people with rights change what others have opened. */
function changeOf(event: ForgeEventName, payload: unknown, of: 'issue' | 'pull_request'): Cause {
  const text = event.endsWith('_opened') ? textAt(payload, of, 'body') : null;
  return {
    text,
    // A template of the repository adds labels for everybody who opens an issue.
    association: isOfAuthor(payload, of) ? associationIn(payload, of) : null,
    isOfRun: textAt(payload, 'action') === 'opened' && isMarked(text),
  };
}

const isOfAuthor = (payload: unknown, of: 'issue' | 'pull_request'): boolean =>
  textAt(payload, 'sender', 'login') === textAt(payload, of, 'user', 'login');

/** Commits for a pull request. The owner of a fork lets anybody push to it, also to the branch of somebody with rights here. */
function pushOf(event: ForgeEventName, payload: unknown): Cause {
  const change = changeOf(event, payload, 'pull_request');
  if (!isOfFork(payload)) return { ...change, association: null };
  return withFork(change);
}

/** A pull request is also closed when the owner of the fork deletes the branch. */
function closeOf(event: ForgeEventName, payload: unknown): Cause {
  const change = changeOf(event, payload, 'pull_request');
  if (valueAt(payload, ['pull_request', 'merged']) === true) return { ...change, association: null };
  return isOfFork(payload) ? withFork(change) : change;
}

/** Somebody else than the author can be without rights here, and have them in the fork. */
const withFork = (change: Cause): Cause => ({
  ...change,
  association: change.association ?? UNKNOWN_ASSOCIATION,
});

/** The repository is missing when it was deleted. */
const isOfFork = (payload: unknown): boolean =>
  isOtherRepository(payload, valueAt(payload, ['pull_request', 'head', 'repo', 'id']));

const isOtherRepository = (payload: unknown, id: unknown): boolean => id !== valueAt(payload, ['repository', 'id']);

const labelsOf = (event: ForgeEventName, payload: unknown, of: 'issue' | 'pull_request'): string[] => {
  const added = textAt(payload, 'label', 'name');
  if (event.endsWith('_labeled')) return added === null ? [] : [added];
  return textsAt(payload, [of, 'labels'], 'name');
};

function issueFields(event: ForgeEventName, payload: unknown, cause: Cause): SpecificFields | null {
  const id = numberAt(payload, 'issue', 'number');
  if (id === null) return null;
  const kind = isPullRequest(payload) ? 'pull_request' : 'issue';
  return {
    target: { kind, id, url: urlAt(payload, 'issue', 'html_url') },
    labels: labelsOf(event, payload, 'issue'),
    ...cause,
  };
}

function pullRequestFields(event: ForgeEventName, payload: unknown, cause: Cause): SpecificFields | null {
  const id = numberAt(payload, 'pull_request', 'number');
  if (id === null) return null;
  return {
    target: { kind: 'pull_request', id, url: urlAt(payload, 'pull_request', 'html_url') },
    labels: labelsOf(event, payload, 'pull_request'),
    branch: textAt(payload, 'pull_request', 'base', 'ref'),
    headBranch: isOfFork(payload) ? null : textAt(payload, 'pull_request', 'head', 'ref'),
    ...cause,
  };
}

function failureFields(
  payload: unknown,
  of: 'check_run' | 'workflow_run',
  branchPath: readonly string[],
): SpecificFields | null {
  const branch = textAt(payload, ...branchPath);
  if (branch === null || !FAILURES.has(valueAt(payload, [of, 'conclusion']))) return null;
  // Without pull requests of forks.
  const [own] = listAt(payload, of, 'pull_requests');
  const number = numberAt(own, 'number');
  const page = urlAt(payload, 'repository', 'html_url');
  const target: ForgeTarget =
    number === null
      ? { kind: 'branch', id: branch, url: urlAt(payload, of, 'html_url') }
      : { kind: 'pull_request', id: number, url: page && `${page}/pull/${number}` };
  return { target, branch, refusal: refusalOf(payload, of) };
}

/** Null when only people with rights can be behind a failure. */
function refusalOf(payload: unknown, of: 'check_run' | 'workflow_run'): string | null {
  if (of === 'check_run') {
    // It does not say which event has started its workflow, and its pull requests are those with the same branch.
    if (textAt(payload, of, 'app', 'slug') !== 'github-actions') return null;
    return 'The check is of a workflow, which everybody may have started: use workflow_failed.';
  }
  // The repository is missing when it was deleted.
  if (isOtherRepository(payload, valueAt(payload, [of, 'head_repository', 'id']))) return FORK_REFUSAL;
  const started = textAt(payload, of, 'event') ?? '';
  if (TRUSTED_WORKFLOW_EVENTS.includes(started)) return null;
  return `The workflow was started by the event ${quoteValue(started)}, which everybody may have caused.`;
}

function pushFields(payload: unknown): SpecificFields | null {
  const ref = textAt(payload, 'ref') ?? '';
  const page = urlAt(payload, 'compare');
  if (ref.startsWith(TAG)) {
    const tag = ref.slice(TAG.length);
    return { target: tagTarget(tag, page), tag };
  }
  const branch = ref.slice(BRANCH.length);
  return {
    target: { kind: 'branch', id: branch, url: page },
    branch,
    paths: changedPaths(payload),
    commitEmail: textAt(payload, 'head_commit', 'author', 'email'),
  };
}

const tagTarget = (id: string, url: string | null): ForgeTarget => ({ kind: 'tag', id, url });
