import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, content, type Schemas } from '../../api/client';
import { Action, Empty, Failure, Link, Time, usePageTitle } from '../../components/basics';
import { useResource } from '../../components/resource';
import { withoutHidden } from '../../format';
import { query } from '../../router';
import { canNotify, notifies, startNotifications, stopNotifications } from './browser-notifications';
import { ApprovalInput } from './approval-input';
import { Decision } from './decision';
import {
  type Approval,
  decide,
  type DecisionBody,
  dismiss,
  itemOf,
  nameOf,
  pending,
  pendingFailure,
  type Problem,
  problems,
  problemsFailure,
  refreshInbox,
  withoutAnswer,
} from './inbox';

export function InboxPage() {
  usePageTitle('Inbox');
  useEffect(() => void refreshInbox({ withProblems: true }), []);
  const item = query.value.get('item');
  return (
    <>
      <div class="head">
        <h1>Inbox</h1>
        {canNotify && (
          <Action run={notifies.value ? stopNotifications : startNotifications}>
            {notifies.value ? 'Stop notifications of this browser' : 'Notify me in this browser'}
          </Action>
        )}
      </div>
      {item === null ? <Everything /> : <Item key={item} item={item} />}
    </>
  );
}

function Everything() {
  const approvals = pending.value;
  const last = useSignal<{ readonly approval: Approval; readonly decision: DecisionBody['decision'] } | null>(null);
  const others = problems.value;
  return (
    <>
      <Failure message={pendingFailure.value} />
      {problemsFailure.value !== pendingFailure.value && <Failure message={problemsFailure.value} />}
      {((approvals === undefined && pendingFailure.value === '') || others === undefined) && (
        <p role="status">Loading …</p>
      )}
      {approvals?.length === 0 && others?.length === 0 && problemsFailure.value === '' && (
        <Empty title="Nothing waits for you">
          <p>
            Permission requests and questions of agents appear here, of all your runs, and what needs a person to
            continue: blocked runs, failed schedules, disabled webhooks and runs whose worker was lost. A run asks for
            permission if “Ask a person” is selected in its form.
          </p>
        </Empty>
      )}
      {last.value !== null && (
        <p role="status">
          {DONE[last.value.decision]}: {withoutHidden(last.value.approval.title)}.{' '}
          <Link to={`runs/${last.value.approval.run_id}`}>Show the run</Link>
        </p>
      )}
      <div class="history">
        {approvals?.map((approval) => (
          <Request
            key={itemOf(approval)}
            approval={approval}
            onDecided={(decision) => {
              last.value = { approval, decision };
            }}
          />
        ))}
        {others?.map((problem) => (
          <Waiting key={problem.id} problem={problem} />
        ))}
      </div>
    </>
  );
}

interface RequestProps {
  readonly approval: Approval;
  readonly onDecided: (decision: DecisionBody['decision']) => void;
}

const DONE: Readonly<Record<DecisionBody['decision'], string>> = {
  allow: 'Allowed',
  allow_always: 'Allowed',
  deny: 'Denied',
  answer: 'Answered',
};

function Request({ approval, onDecided }: RequestProps) {
  return (
    <section class="card approval" aria-label={nameOf(approval)}>
      <div>
        <strong>{withoutHidden(approval.title)}</strong>
        <div class="muted">
          <Link to={`runs/${approval.run_id}`}>{approval.run_title ?? 'Run'}</Link> · asked{' '}
          <Time at={approval.requested_at} /> · if nobody answers, {withoutAnswer(approval)}{' '}
          <Time at={approval.expires_at} /> · <Link to={`inbox?item=${itemOf(approval)}`}>Link to this request</Link>
        </div>
      </div>
      <ApprovalInput approval={approval} />
      <div class="actions">
        <Decision
          approval={approval}
          decide={async (body) => {
            await decide(approval, body);
            onDecided(body.decision);
          }}
        />
      </div>
    </section>
  );
}

function Waiting({ problem: { id, kind, title, reason, to, at, isDismissible } }: { readonly problem: Problem }) {
  return (
    <section class="card approval" aria-label={kind}>
      <div>
        <strong>
          {kind}: {to === undefined ? title : <Link to={to}>{title}</Link>}
        </strong>
        <div>{reason}</div>
        {at !== undefined && (
          <div class="muted">
            <Time at={at} />
          </div>
        )}
      </div>
      {isDismissible === true && (
        <div class="actions">
          <button type="button" onClick={() => dismiss(id)}>
            Hide
          </button>
        </div>
      )}
    </section>
  );
}

const REFRESH_MS = 5000;
const RESULT: Readonly<Record<Schemas['ApprovalState'], string>> = {
  pending: 'Waiting',
  allowed: 'Allowed',
  denied: 'Denied',
  answered: 'Answered',
};
const answerText = ({ option, text }: Schemas['ApprovalAnswer']): string =>
  [option, text].flatMap((part) => (part === undefined ? [] : [withoutHidden(part)])).join(': ');
const VIA: Readonly<Record<string, string>> = {
  rule: 'by a rule of the run',
  timeout: 'because nobody answered in time',
  cancel: 'because the turn ended',
};

/** Exactly one request, also after its decision: `item` is that of a link. */
function Item({ item }: { readonly item: string }) {
  const [runId = '', approvalId] = item.split('/');
  const found = useResource(
    () => content(api.GET('/agent/runs/{runId}/approvals', { params: { path: { runId } } })),
    item,
    REFRESH_MS,
  );
  const approval = found.data?.approvals.find(({ approval_id: id }) => id === approvalId);
  return (
    <>
      <p class="section">
        <Link to="inbox">Show the whole inbox</Link>
      </p>
      <Failure message={found.failure} />
      {found.data !== undefined && approval === undefined && <Empty title="The run has no such request" />}
      {approval !== undefined && (
        <section class="card approval" aria-label={nameOf(approval)}>
          <div>
            <strong>{withoutHidden(approval.title)}</strong>
            <div class="muted">
              <Link to={`runs/${runId}`}>Show the run</Link> · asked <Time at={approval.requested_at} />
            </div>
          </div>
          <ApprovalInput approval={approval} isComplete />
          <div class="actions">
            {approval.state === 'pending' ? (
              <Decision
                approval={approval}
                isComplete
                decide={async (body) => {
                  try {
                    await decide(approval, body);
                  } finally {
                    await found.reload();
                  }
                }}
              />
            ) : (
              <p role="status">
                {RESULT[approval.state]}{' '}
                {VIA[approval.decided_via ?? ''] ?? `by ${approval.decided_by?.display_name ?? 'a user'}`}
                {approval.decided_at !== undefined && (
                  <>
                    {' '}
                    <Time at={approval.decided_at} />
                  </>
                )}
                {approval.note !== undefined && `: ${approval.note}`}
                {approval.answer !== undefined && `: ${answerText(approval.answer)}`}
              </p>
            )}
          </div>
        </section>
      )}
    </>
  );
}
