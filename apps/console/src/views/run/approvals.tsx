import { useSignal } from '@preact/signals';
import { api, ApiProblem, content, messageOf } from '../../api/client';
import { Failure, Time } from '../../components/basics';
import { useResource } from '../../components/resource';
import { withoutHidden } from '../../format';
import { ApprovalInput } from '../inbox/approval-input';
import { Decision } from '../inbox/decision';
import { decide, type DecisionBody, nameOf, withoutAnswer } from '../inbox/inbox';

/** What an agent waits for. `revision`: changes when it may have changed. */
export function Approvals({ runId, revision }: { readonly runId: string; readonly revision: string }) {
  const list = useResource(
    () => content(api.GET('/agent/runs/{runId}/approvals', { params: { path: { runId } } })),
    `${runId} ${revision}`,
  );
  const failure = useSignal('');
  const pending = list.data?.approvals.filter(({ state }) => state === 'pending') ?? [];
  const answer = async (approvalId: string, body: DecisionBody): Promise<void> => {
    failure.value = '';
    try {
      await decide({ run_id: runId, approval_id: approvalId }, body);
    } catch (error) {
      // The form of a question shows it beside its fields.
      if (error instanceof ApiProblem && error.fields.length > 0) throw error;
      // Not beside the buttons: they go away when another person has decided it.
      failure.value = messageOf(error);
    }
    await list.reload();
  };
  return (
    <>
      <Failure message={failure.value || list.failure} />
      {pending.map((approval) => (
        <section class="card approval" key={approval.approval_id} aria-label={nameOf(approval)}>
          <strong>{withoutHidden(approval.title)}</strong>
          <ApprovalInput approval={approval} />
          <div class="actions">
            <Decision approval={approval} decide={(body) => answer(approval.approval_id, body)} />
            <span class="muted">
              If nobody answers, {withoutAnswer(approval)} <Time at={approval.expires_at} />
            </span>
          </div>
        </section>
      ))}
    </>
  );
}
