import { valueAt } from '../placeholders.js';
import {
  type ForgeEvent,
  type ForgeEventName,
  type ForgeTarget,
  FORK_REFUSAL,
  UNKNOWN_ASSOCIATION,
  WITHOUT_DETAILS,
} from './forge-event.js';
import { changedPaths, hostAt, isMarked, listAt, numberAt, textAt, textsAt, urlAt } from './payload-fields.js';

const BRANCH = 'refs/heads/';
const TAG = 'refs/tags/';
const NO_COMMIT = /^0+$/;
/** Users of access tokens of projects and groups, and of service accounts. */
const BOT = /^((project|group)_\d+_bot|service_account_)/;

type SpecificFields = Partial<ForgeEvent> & Pick<ForgeEvent, 'event' | 'target'>;

/**
 * The events of a delivery that a trigger can name: a change can be several. The kind is in the payload too, and the same in
 * system hooks.
 */
export function readGitlabEvents(payload: unknown): readonly ForgeEvent[] {
  const repository = textAt(payload, 'project', 'path_with_namespace');
  if (repository === null) return [];
  const sender = textAt(payload, 'user', 'username') ?? textAt(payload, 'user_username') ?? '';
  const common = {
    host: hostAt(payload, 'project', 'web_url'),
    repository,
    sender: { name: sender, isBot: BOT.test(sender) },
    ...WITHOUT_DETAILS,
  };
  return specificFields(payload).flatMap((specific) => (specific === null ? [] : [{ ...common, ...specific }]));
}

function specificFields(payload: unknown): readonly (SpecificFields | null)[] {
  switch (textAt(payload, 'object_kind')) {
    case 'issue':
      return issueFields(payload);
    case 'merge_request':
      return mergeRequestFields(payload);
    default:
      return [otherFields(payload)];
  }
}

function otherFields(payload: unknown): SpecificFields | null {
  switch (textAt(payload, 'object_kind')) {
    case 'note':
      return noteFields(payload);
    case 'pipeline':
      return pipelineFields(payload);
    case 'build':
      return jobFields(payload);
    case 'push':
      return pushFields(payload);
    case 'tag_push':
      return tagFields(payload);
    case 'release':
      return releaseFields(payload);
    default:
      return null;
  }
}

const attributeOf = (payload: unknown, name: string): unknown => valueAt(payload, ['object_attributes', name]);

function targetOf(payload: unknown, kind: 'issue' | 'pull_request', of: string): ForgeTarget | null {
  const id = numberAt(payload, of, 'iid');
  return id === null ? null : { kind, id, url: urlAt(payload, of, 'url') };
}

/** The names of the labels that a change has added. */
function addedLabels(payload: unknown): string[] {
  const before = new Set(textsAt(payload, ['changes', 'labels', 'previous'], 'title'));
  return textsAt(payload, ['changes', 'labels', 'current'], 'title').filter((title) => !before.has(title));
}

/** Whether a change has added a user. */
function isAssigned(payload: unknown): boolean {
  const before = new Set(textsAt(payload, ['changes', 'assignees', 'previous'], 'username'));
  return textsAt(payload, ['changes', 'assignees', 'current'], 'username').some((name) => !before.has(name));
}

/** GitLab sends no roles. Only people with rights change what others have opened, and labels and assignees at all. */
const associationOf = (payload: unknown): string | null =>
  valueAt(payload, ['user', 'id']) === attributeOf(payload, 'author_id') ? UNKNOWN_ASSOCIATION : null;

/** What was opened or reopened. */
function openedFields(payload: unknown) {
  const text = textAt(payload, 'object_attributes', 'description');
  const isOfRun = attributeOf(payload, 'action') === 'open' && isMarked(text);
  return { text, isOfRun, association: associationOf(payload) };
}

function issueFields(payload: unknown): readonly SpecificFields[] {
  const target = targetOf(payload, 'issue', 'object_attributes');
  if (target === null) return [];
  const labels = textsAt(payload, ['labels'], 'title');
  switch (attributeOf(payload, 'action')) {
    case 'open':
    case 'reopen':
      return [{ event: 'issue_opened', target, labels, ...openedFields(payload) }];
    case 'update': {
      const added = addedLabels(payload);
      return [
        ...(added.length > 0 ? [{ event: 'issue_labeled', target, labels: added } as const] : []),
        ...(isAssigned(payload) ? [{ event: 'issue_assigned', target, labels } as const] : []),
      ];
    }
    default:
      return [];
  }
}

function mergeRequestFields(payload: unknown): readonly SpecificFields[] {
  const target = targetOf(payload, 'pull_request', 'object_attributes');
  if (target === null) return [];
  const branch = textAt(payload, 'object_attributes', 'target_branch');
  const labels = textsAt(payload, ['labels'], 'title');
  const isFork = attributeOf(payload, 'source_project_id') !== attributeOf(payload, 'target_project_id');
  return mergeRequestEvents(payload).map((event): SpecificFields => {
    const headBranch = isFork ? null : textAt(payload, 'object_attributes', 'source_branch');
    const common = { event, target, branch, headBranch };
    switch (event) {
      case 'pull_request_opened':
        return { ...common, labels, ...openedFields(payload) };
      case 'pull_request_labeled':
        return { ...common, labels: addedLabels(payload) };
      case 'pull_request_updated':
        return { ...common, labels, association: isFork ? UNKNOWN_ASSOCIATION : null };
      case 'pull_request_reviewed':
        return { ...common, labels, association: associationOf(payload) };
      case 'pull_request_closed': {
        const isMerged = attributeOf(payload, 'action') === 'merge';
        return { ...common, labels, association: isMerged ? null : associationOf(payload) };
      }
      default:
        return { ...common, labels };
    }
  });
}

function mergeRequestEvents(payload: unknown): readonly ForgeEventName[] {
  switch (attributeOf(payload, 'action')) {
    case 'open':
    case 'reopen':
      return ['pull_request_opened'];
    case 'merge':
    case 'close':
      return ['pull_request_closed'];
    case 'approved':
    case 'approval':
      return ['pull_request_reviewed'];
    case 'update':
      return [
        ...(textAt(payload, 'object_attributes', 'oldrev') === null ? [] : (['pull_request_updated'] as const)),
        ...(valueAt(payload, ['changes', 'draft', 'current']) === false ? (['pull_request_opened'] as const) : []),
        ...(addedLabels(payload).length > 0 ? (['pull_request_labeled'] as const) : []),
      ];
    default:
      return [];
  }
}

function noteFields(payload: unknown): SpecificFields | null {
  // Older servers do not send the action, and send new comments only.
  if ((attributeOf(payload, 'action') ?? 'create') !== 'create' || attributeOf(payload, 'system') === true) return null;
  const text = textAt(payload, 'object_attributes', 'note');
  const cause = { text, isOfRun: isMarked(text), association: UNKNOWN_ASSOCIATION };
  if (attributeOf(payload, 'noteable_type') === 'Issue') {
    const target = targetOf(payload, 'issue', 'issue');
    return (
      target && { event: 'issue_commented', target, labels: textsAt(payload, ['issue', 'labels'], 'title'), ...cause }
    );
  }
  const target = targetOf(payload, 'pull_request', 'merge_request');
  if (attributeOf(payload, 'noteable_type') !== 'MergeRequest' || target === null) return null;
  return {
    event: attributeOf(payload, 'type') === 'DiffNote' ? 'pull_request_review_commented' : 'pull_request_commented',
    target,
    labels: textsAt(payload, ['merge_request', 'labels'], 'title'),
    ...cause,
    branch: textAt(payload, 'merge_request', 'target_branch'),
    headBranch: isOfFork(payload) ? null : textAt(payload, 'merge_request', 'source_branch'),
  };
}

function pipelineFields(payload: unknown): SpecificFields | null {
  const branch = textAt(payload, 'object_attributes', 'ref');
  if (attributeOf(payload, 'status') !== 'failed' || attributeOf(payload, 'tag') === true || branch === null)
    return null;
  const target: ForgeTarget = targetOf(payload, 'pull_request', 'merge_request') ?? {
    kind: 'branch',
    id: branch,
    url: urlAt(payload, 'object_attributes', 'url'),
  };
  return { event: 'workflow_failed', target, branch, refusal: isOfFork(payload) ? FORK_REFUSAL : null };
}

/** The merge request of a comment or of a pipeline, which may have none. */
function isOfFork(payload: unknown): boolean {
  const source = valueAt(payload, ['merge_request', 'source_project_id']);
  return source !== undefined && source !== valueAt(payload, ['merge_request', 'target_project_id']);
}

function jobFields(payload: unknown): SpecificFields | null {
  const branch = textAt(payload, 'ref');
  if (valueAt(payload, ['build_status']) !== 'failed' || valueAt(payload, ['tag']) === true || branch === null)
    return null;
  const page = urlAt(payload, 'project', 'web_url');
  const id = numberAt(payload, 'build_id');
  const url = page !== null && id !== null ? `${page}/-/jobs/${id}` : page;
  return { event: 'check_failed', target: { kind: 'branch', id: branch, url }, branch };
}

function pushFields(payload: unknown): SpecificFields | null {
  const ref = textAt(payload, 'ref') ?? '';
  if (!ref.startsWith(BRANCH) || NO_COMMIT.test(textAt(payload, 'after') ?? '0')) return null;
  const branch = ref.slice(BRANCH.length);
  return {
    event: 'branch_pushed',
    target: { kind: 'branch', id: branch, url: urlAt(payload, 'project', 'web_url') },
    branch,
    paths: changedPaths(payload),
    commitEmail: textAt(listAt(payload, 'commits').at(-1), 'author', 'email'),
  };
}

function tagFields(payload: unknown): SpecificFields | null {
  const ref = textAt(payload, 'ref') ?? '';
  const isCreated = NO_COMMIT.test(textAt(payload, 'before') ?? '') && !NO_COMMIT.test(textAt(payload, 'after') ?? '0');
  if (!ref.startsWith(TAG) || !isCreated) return null;
  const tag = ref.slice(TAG.length);
  return { event: 'tag_pushed', target: { kind: 'tag', id: tag, url: urlAt(payload, 'project', 'web_url') }, tag };
}

function releaseFields(payload: unknown): SpecificFields | null {
  const tag = textAt(payload, 'tag');
  if (valueAt(payload, ['action']) !== 'create' || tag === null) return null;
  return { event: 'release_published', target: { kind: 'tag', id: tag, url: urlAt(payload, 'url') }, tag };
}
