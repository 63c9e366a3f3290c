import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, content, type Schemas } from '../../api/client';
import { Time } from '../../components/basics';
import { Decision } from '../inbox/decision';
import { decide } from '../inbox/inbox';

/** What an agent waits for. `revision`: changes when it may have changed. */
export function Approvals({ runId, revision }: { readonly runId: string; readonly revision: string }) {
  const pending = useSignal<readonly Schemas['ApprovalItem'][]>([]);
  const load = async (): Promise<void> => {
    const params = { path: { runId } };
    const { approvals } = await content(api.GET('/agent/runs/{runId}/approvals', { params }));
    pending.value = approvals.filter(({ state }) => state === 'pending');
  };
  useEffect(() => {
    void load().catch(() => undefined);
  }, [runId, revision]);
  const answer = async (approvalId: string, decision: Schemas['ApprovalDecision']): Promise<void> => {
    try {
      await decide({ run_id: runId, approval_id: approvalId }, decision);
    } finally {
      // Also after a conflict: another person may have decided it.
      await load();
    }
  };
  return (
    <>
      {pending.value.map(({ approval_id: id, title, expires_at: expiresAt }) => (
        <section class="card approval" key={id} aria-label="Permission request">
          <strong>{title}</strong>
          <div class="actions">
            <Decision decide={(decision) => answer(id, decision)} />
            <span class="muted">
              Denied without an answer <Time at={expiresAt} />
            </span>
          </div>
        </section>
      ))}
    </>
  );
}
