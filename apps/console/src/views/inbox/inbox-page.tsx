import { useEffect } from 'preact/hooks';
import { Empty, Link, Time, usePageTitle } from '../../components/basics';
import { Decision } from './decision';
import { decide, pending, refreshInbox } from './inbox';

export function InboxPage() {
  usePageTitle('Inbox');
  useEffect(() => void refreshInbox(), []);
  const approvals = pending.value;
  return (
    <>
      <div class="head">
        <h1>Inbox</h1>
      </div>
      {approvals === undefined && <p role="status">Loading …</p>}
      {approvals?.length === 0 && (
        <Empty title="Nothing waits for you">
          <p>Permission requests of agents appear here, of all your runs.</p>
        </Empty>
      )}
      <div class="history">
        {approvals?.map((approval) => (
          <section
            class="card approval"
            key={`${approval.run_id} ${approval.approval_id}`}
            aria-label="Permission request"
          >
            <div>
              <strong>{approval.title}</strong>
              <div class="muted">
                <Link to={`runs/${approval.run_id}`}>{approval.run_title ?? 'Run'}</Link> · asked{' '}
                <Time at={approval.requested_at} /> · denied without an answer <Time at={approval.expires_at} />
              </div>
            </div>
            <div class="actions">
              <Decision decide={(decision) => decide(approval, decision)} />
            </div>
          </section>
        ))}
      </div>
    </>
  );
}
