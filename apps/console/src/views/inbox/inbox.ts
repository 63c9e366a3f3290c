import { effect, signal, untracked } from '@preact/signals';
import { api, content, type Schemas } from '../../api/client';
import { may, principal, team } from '../../session';

export type Approval = Schemas['ApprovalItem'];

const REFRESH_MS = 5000;

/** Permission requests of all runs of the user that wait for a decision. Undefined: they are not known yet. */
export const pending = signal<readonly Approval[] | undefined>(undefined);

let timer: ReturnType<typeof setTimeout> | undefined;

export async function refreshInbox(): Promise<void> {
  clearTimeout(timer);
  if (!principal.peek()) return;
  try {
    if (!document.hidden || pending.peek() === undefined) {
      const query = { state: 'pending' as const, limit: 100 };
      pending.value = (await content(api.GET('/agent/approvals', { params: { query } }))).approvals;
    }
  } catch {
    // The next attempt follows; the page that shows the list reads it by itself.
  }
  timer = setTimeout(() => void refreshInbox(), REFRESH_MS);
}

/** Another person may have decided it: the list is read again in any case. */
export async function decide(
  { run_id: runId, approval_id: approvalId }: Pick<Approval, 'run_id' | 'approval_id'>,
  decision: Schemas['ApprovalDecision'],
): Promise<void> {
  const params = { path: { runId, approvalId } };
  try {
    await content(api.POST('/agent/runs/{runId}/approvals/{approvalId}', { params, body: { decision } }));
  } finally {
    await refreshInbox();
  }
}

export const mayDecide = (): boolean => may('runs:write');

effect(() => {
  // Those of another team, or of nobody.
  void team.value;
  pending.value = undefined;
  if (principal.value) untracked(() => void refreshInbox());
});
