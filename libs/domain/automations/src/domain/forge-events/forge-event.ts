import type { RunSourceType } from '#domain/runs';
import { shortKey } from '#platform/kernel';

export const FORGE_PROVIDERS = ['github', 'gitlab'] as const;
export type ForgeProvider = (typeof FORGE_PROVIDERS)[number];

/** The fields of a filter that not every event has. */
export type EventFilter = 'labels' | 'branches' | 'tags' | 'paths' | 'mention' | 'author_associations';

interface EventDefinition {
  readonly description: string;
  readonly filters: readonly EventFilter[];
  /** Mostly caused by people about whose rights GitLab says nothing. */
  readonly isOpenToAll?: true;
  /** Programs cause it, in place of people. */
  readonly isOfPrograms?: true;
}

export const FORGE_EVENTS = {
  issue_opened: {
    description: 'An issue was opened or reopened.',
    filters: ['labels', 'mention', 'author_associations'],
    isOpenToAll: true,
  },
  issue_labeled: { description: 'A label was added to an issue.', filters: ['labels', 'author_associations'] },
  issue_assigned: { description: 'An issue was assigned to a user.', filters: ['labels', 'author_associations'] },
  issue_commented: {
    description: 'A comment was written on an issue.',
    filters: ['labels', 'mention', 'author_associations'],
    isOpenToAll: true,
  },
  pull_request_opened: {
    description: 'A pull request or merge request was opened or reopened, or is no longer a draft.',
    filters: ['labels', 'branches', 'mention', 'author_associations'],
    isOpenToAll: true,
  },
  pull_request_labeled: {
    description: 'A label was added to a pull request.',
    filters: ['labels', 'branches', 'author_associations'],
  },
  pull_request_commented: {
    description: 'A comment was written on a pull request, but not on a line of it.',
    filters: ['labels', 'mention', 'author_associations'],
    isOpenToAll: true,
  },
  pull_request_reviewed: {
    description: 'A review of a pull request was submitted; on GitLab, a merge request was approved.',
    filters: ['labels', 'branches', 'mention', 'author_associations'],
  },
  pull_request_review_commented: {
    description: 'A comment was written on a line of a pull request.',
    filters: ['labels', 'branches', 'mention', 'author_associations'],
    isOpenToAll: true,
  },
  pull_request_updated: {
    description: 'Commits were pushed to the branch of a pull request.',
    filters: ['labels', 'branches', 'author_associations'],
  },
  pull_request_closed: {
    description: 'A pull request was merged, or closed without a merge.',
    filters: ['labels', 'branches', 'author_associations'],
  },
  check_failed: {
    description:
      'A check run (GitHub) or a job (GitLab) has failed. For workflows of GitHub Actions use workflow_failed.',
    filters: ['branches'],
    isOfPrograms: true,
  },
  workflow_failed: {
    description: 'A workflow run (GitHub) or a pipeline (GitLab) has failed.',
    filters: ['branches'],
    isOfPrograms: true,
  },
  branch_pushed: { description: 'Commits were pushed to a branch.', filters: ['branches', 'paths'] },
  tag_pushed: { description: 'A tag was created.', filters: ['tags'] },
  release_published: { description: 'A release was published.', filters: ['tags'] },
} as const satisfies Readonly<Record<string, EventDefinition>>;

export type ForgeEventName = keyof typeof FORGE_EVENTS;
export const FORGE_EVENT_NAMES = Object.keys(FORGE_EVENTS) as readonly ForgeEventName[];
export const definitionOf = (event: ForgeEventName): EventDefinition => FORGE_EVENTS[event];

export const SOURCE_OF: Readonly<Record<ForgeProvider, RunSourceType>> = {
  github: 'GITHUB_WEBHOOK',
  gitlab: 'GITLAB_WEBHOOK',
};

/** The stored header with the kind of a delivery. */
export const EVENT_HEADER: Readonly<Record<ForgeProvider, string>> = {
  github: 'x-github-event',
  gitlab: 'x-gitlab-event',
};

/** The signature schemes whose deliveries are events of the provider. */
export const SCHEMES_OF: Readonly<Record<ForgeProvider, readonly string[]>> = {
  github: ['github'],
  gitlab: ['gitlab_token', 'gitlab_signing'],
};

/** What has happened in a repository, in the same form for all forges. */
export interface ForgeEvent {
  readonly event: ForgeEventName;
  /** Of the page of the repository, such as `github.com`; empty when the payload has none. */
  readonly host: string;
  /** `acme/service`; on GitLab with all its groups. */
  readonly repository: string;
  readonly target: ForgeTarget;
  readonly sender: { readonly name: string; readonly isBot: boolean };
  /**
   * Of the sender with the repository, as GitHub names it; {@link UNKNOWN_ASSOCIATION} where the forge does not say. Null when
   * only people with rights can cause the event.
   */
  readonly association: string | null;
  /** The added label of a `…_labeled` event, otherwise all labels of the target. */
  readonly labels: readonly string[];
  /** Of the comment or the review, or the description of what was opened. */
  readonly text: string | null;
  /** A run has written what this event is about; not that it has written something before. */
  readonly isOfRun: boolean;
  /** Of a pull request the branch to merge into, otherwise the branch of the commits. */
  readonly branch: string | null;
  /** Of a pull request, in the same repository. */
  readonly headBranch: string | null;
  readonly tag: string | null;
  /** The changed files, of a push only. */
  readonly paths: readonly string[];
  /** E-mail address of the author of the last pushed commit. */
  readonly commitEmail: string | null;
  /** Why the event of a program starts nothing: somebody without rights can be behind it. */
  readonly refusal: string | null;
}

/** The fields that most events do not have. */
export const WITHOUT_DETAILS = {
  association: null,
  labels: [],
  text: null,
  isOfRun: false,
  branch: null,
  headBranch: null,
  tag: null,
  paths: [],
  commitEmail: null,
  refusal: null,
} as const satisfies Partial<ForgeEvent>;

/** The object that an event belongs to. */
export interface ForgeTarget {
  readonly kind: 'issue' | 'pull_request' | 'branch' | 'tag';
  /** The number, or the name. */
  readonly id: string;
  /** Null when the payload has none that is an address on the web. */
  readonly url: string | null;
}

export const UNKNOWN_ASSOCIATION = 'UNKNOWN';
export const FORK_REFUSAL = 'The code is from a fork of the repository.';
const MAX_KEY = 380;
const TARGET_MARKS = {
  github: { issue: '#', pull_request: '#', branch: '@', tag: '@' },
  gitlab: { issue: '#', pull_request: '!', branch: '@', tag: '@' },
} as const;

/** `acme/service#12`, `acme/service@main`; as the forge writes it. */
export function targetName(provider: ForgeProvider, { repository, target }: ForgeEvent): string {
  return `${repository}${TARGET_MARKS[provider][target.kind]}${target.id}`;
}

/** The same for all events of the repository. */
export function repositoryKey(provider: ForgeProvider, { host, repository }: ForgeEvent): string {
  return shortKey(`${provider}:${host}:${repository.toLowerCase()}`, MAX_KEY);
}

/** The same for all events of the object, and no other one of any server. */
export function targetKey(provider: ForgeProvider, event: ForgeEvent): string {
  return shortKey(`${repositoryKey(provider, event)}:${event.target.kind}:${event.target.id}`, MAX_KEY);
}

/** The branch or tag on which a run for the event works; undefined: the default branch. */
export function refOf({ event, branch, headBranch, tag }: ForgeEvent): string | undefined {
  // The branch of a pull request is often deleted with it.
  if (event === 'pull_request_closed') return branch ?? undefined;
  return tag ?? headBranch ?? branch ?? undefined;
}
