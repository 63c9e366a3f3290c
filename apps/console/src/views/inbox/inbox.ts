import { batch, computed, effect, signal, untracked } from '@preact/signals';
import { api, content, messageOf, type Schemas } from '../../api/client';
import { withoutHidden } from '../../format';
import { may, principal, team } from '../../session';
import { notifyBrowser, notifies } from './browser-notifications';

export type Approval = Schemas['ApprovalItem'];
export type DecisionBody = Schemas['ApprovalDecisionRequest'];

/** Something that does not continue by itself, and where a person repairs it. */
export interface Problem {
  readonly id: string;
  readonly kind: 'Blocked run' | 'Schedule' | 'Notification webhook' | 'Webhook' | 'Lost worker';
  readonly title: string;
  readonly reason: string;
  /** The path of its page in the console, if it has one. */
  readonly to?: string;
  readonly at?: string;
  /** It stays in the list until a user hides it, because nothing repairs it. */
  readonly isDismissible?: boolean;
  /** Of a blocked run. */
  readonly runId?: string;
}

const REFRESH_MS = 5000;
const PROBLEMS_REFRESH_MS = 30_000;
const LOST_WINDOW_MS = 86_400_000;
const DISMISSED_KEY = 'headrace-dismissed';

/** Permission requests and questions of all runs of the user that wait for a decision. Undefined: they are not known yet. */
export const pending = signal<readonly Approval[] | undefined>(undefined);
/** By the part that reads them. A part that was never read is absent. */
const parts = signal<ReadonlyMap<string, readonly Problem[]>>(new Map());
/** Whether each part was read, or has failed, at least once. */
const isRead = signal(false);
const found = computed(() => (isRead.value ? [...parts.value.values()].flat() : undefined));
const dismissed = signal<readonly string[]>(readDismissed());
/** Undefined: they are not known yet. */
export const problems = computed(() =>
  found.value?.filter(({ id, runId }) => !dismissed.value.includes(id) && (runId === undefined || !isAsked(runId))),
);
/** Whether a permission request of the run is listed, which says more. */
const isAsked = (runId: string): boolean => pending.value?.some(({ run_id: id }) => id === runId) === true;
/** Why the permission requests could not be read. */
export const pendingFailure = signal('');
/** Why the problems could not be read. */
export const problemsFailure = signal('');
export const waitingCount = computed(() => (pending.value?.length ?? 0) + (problems.value?.length ?? 0));

/** The part of the URL that opens exactly this request, also after its decision. */
export const itemOf = ({ run_id: runId, approval_id: id }: Pick<Approval, 'run_id' | 'approval_id'>): string =>
  `${runId}/${id}`;

function readDismissed(): readonly string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(DISMISSED_KEY) ?? '[]');
    return Array.isArray(stored) ? stored.filter((id) => typeof id === 'string') : [];
  } catch {
    // Another version of the console, or an extension, has written something else.
    return [];
  }
}

export function dismiss(id: string): void {
  const listed = new Set(found.peek()?.map((problem) => problem.id));
  dismissed.value = [...dismissed.peek().filter((known) => listed.has(known)), id];
  localStorage.setItem(DISMISSED_KEY, JSON.stringify(dismissed.peek()));
}

let timer: ReturnType<typeof setTimeout> | undefined;
let problemsReadAt = -Infinity;

export async function refreshInbox({ withProblems = false } = {}): Promise<void> {
  clearTimeout(timer);
  if (!principal.peek()) return;
  // A hidden page only asks if it notifies.
  if (!document.hidden || notifies.peek() || pending.peek() === undefined) {
    const isDue = performance.now() - problemsReadAt >= PROBLEMS_REFRESH_MS;
    await readApprovals();
    if (withProblems || isDue) await refreshProblems();
  }
  clearTimeout(timer);
  timer = setTimeout(() => void refreshInbox(), REFRESH_MS);
}

async function readApprovals(): Promise<void> {
  const of = team.peek();
  try {
    const query = { state: 'pending' as const, limit: 100 };
    const { approvals } = await content(api.GET('/agent/approvals', { params: { query } }));
    if (of !== team.peek() || !principal.peek()) return;
    const known = pending.peek();
    if (known !== undefined)
      for (const approval of approvals)
        if (!known.some((other) => itemOf(other) === itemOf(approval)))
          notifyBrowser(withoutHidden(approval.title), approval.run_title ?? 'Run', `inbox?item=${itemOf(approval)}`);
    pending.value = approvals;
    pendingFailure.value = '';
  } catch (error) {
    // The next attempt follows.
    if (of === team.peek() && principal.peek()) pendingFailure.value = messageOf(error);
  }
}

const READERS = [
  { name: 'blocked runs', permission: 'runs:read', read: blockedRuns },
  { name: 'lost workers', permission: 'runs:read', read: lostWorkers },
  { name: 'schedules', permission: 'schedules:read', read: schedules },
  { name: 'notification webhooks', permission: 'notifications:read', read: notificationWebhooks },
  { name: 'webhooks', permission: 'factories:manage', read: webhooks },
];

async function refreshProblems(): Promise<void> {
  problemsReadAt = performance.now();
  const of = team.peek();
  const readers = READERS.filter(({ permission }) => may(permission));
  const results = await Promise.allSettled(readers.map(({ read }) => read()));
  if (of !== team.peek() || !principal.peek()) return;
  const next = new Map<string, readonly Problem[]>();
  let failure = '';
  for (const [index, { name }] of readers.entries()) {
    const result = results[index];
    const before = parts.peek().get(name);
    if (result?.status === 'fulfilled') {
      // What the first read of a part finds is not new.
      for (const { id, kind, title, reason, to } of before === undefined ? [] : result.value)
        if (!before?.some((other) => other.id === id)) notifyBrowser(`${kind}: ${title}`, reason, to ?? 'inbox');
      next.set(name, result.value);
    } else {
      failure ||= messageOf(result?.reason);
      if (before !== undefined) next.set(name, before);
    }
  }
  batch(() => {
    problemsFailure.value = failure;
    parts.value = next;
    isRead.value = true;
  });
}

/** Blocked without a permission request. */
async function blockedRuns(): Promise<Problem[]> {
  const query = { state: ['BLOCKED' as const], limit: 100 };
  const { runs } = await content(api.GET('/agent/runs', { params: { query } }));
  return runs
    .filter(({ run_id: id }) => !isAsked(id))
    .map(({ run_id: id, title, status_message: status, updated_at: at }) => ({
      id: `blocked ${id}`,
      kind: 'Blocked run',
      title,
      reason: status?.message ?? 'The run waits.',
      to: `runs/${id}`,
      at,
      runId: id,
    }));
}

/** Runs that ended because their worker was lost, within a day. */
async function lostWorkers(): Promise<Problem[]> {
  const query = { state: ['ERROR' as const], updated_after: new Date(Date.now() - LOST_WINDOW_MS).toISOString() };
  const { runs } = await content(api.GET('/agent/runs', { params: { query: { ...query, limit: 100 } } }));
  return runs
    .filter(({ status_message: status }) => status?.error_code === 'infrastructure_timeout')
    .map(({ run_id: id, title, status_message: status, updated_at: at }) => ({
      id: `lost ${id}`,
      kind: 'Lost worker',
      title,
      reason: status?.message ?? '',
      to: `runs/${id}`,
      at,
      isDismissible: true,
    }));
}

async function schedules(): Promise<Problem[]> {
  const list = await content(api.GET('/agent/schedules'));
  return list.schedules.flatMap(
    ({ id, name, paused_reason: paused, last_spawn_error: failed, enabled, updated_at: at }) => {
      // A schedule that a user has paused is not due.
      const reason = paused ?? (enabled ? failed : null);
      return reason === null
        ? []
        : [{ id: `schedule ${id}`, kind: 'Schedule', title: name, reason, to: `schedules/${id}`, at }];
    },
  );
}

async function notificationWebhooks(): Promise<Problem[]> {
  const list = await content(api.GET('/notification-webhooks'));
  return list.notification_webhooks.flatMap(({ uid, name, enabled, disabled_reason: reason, updated_at: at }) =>
    enabled || reason === undefined
      ? []
      : [
          {
            id: `notification ${uid}`,
            kind: 'Notification webhook',
            title: name,
            reason,
            to: 'webhooks?tab=notifications',
            at,
          },
        ],
  );
}

async function webhooks(): Promise<Problem[]> {
  const { factories } = await content(api.GET('/factory', { params: { query: { limit: 100 } } }));
  const lists = await Promise.all(
    factories.map(async ({ uid: factoryUid }) => {
      const list = await content(api.GET('/factories/{factoryUid}/webhooks', { params: { path: { factoryUid } } }));
      return { factoryUid, webhooks: list.webhooks };
    }),
  );
  return lists.flatMap(({ factoryUid, webhooks: all }) =>
    all.flatMap(({ uid, name, secret_missing: isMissing, secret_pending: isPending, updated_at: at }) =>
      isMissing === true || isPending === true
        ? [
            {
              id: `webhook ${uid}`,
              kind: 'Webhook',
              title: name,
              reason:
                isMissing === true ? 'Disabled until the secret of the sender is supplied.' : 'Waits for its secret.',
              to: `webhooks/${uid}?factory=${factoryUid}&tab=set-up`,
              at,
            },
          ]
        : [],
    ),
  );
}

/** Another person may have decided it: the list is read again in any case. */
export async function decide(
  { run_id: runId, approval_id: approvalId }: Pick<Approval, 'run_id' | 'approval_id'>,
  body: DecisionBody,
): Promise<void> {
  const params = { path: { runId, approvalId } };
  try {
    await content(api.POST('/agent/runs/{runId}/approvals/{approvalId}', { params, body }));
  } finally {
    await refreshInbox({ withProblems: true });
  }
}

/** For people. */
export const nameOf = ({ kind }: Approval): string => (kind === 'question' ? 'Question' : 'Permission request');

/** What happens at the time when it expires. */
export const withoutAnswer = ({ kind }: Approval): string =>
  kind === 'question' ? 'the agent continues without an answer' : 'it is denied';

export const mayDecide = (): boolean => may('runs:write');

effect(() => {
  // Those of another team, or of nobody.
  void team.value;
  pending.value = undefined;
  parts.value = new Map();
  isRead.value = false;
  pendingFailure.value = '';
  problemsFailure.value = '';
  problemsReadAt = -Infinity;
  if (principal.value) untracked(() => void refreshInbox());
});
