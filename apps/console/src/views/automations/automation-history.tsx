import { api, content } from '../../api/client';
import { Badge, Failure, Link, StateBadge, Time } from '../../components/basics';
import { useResource } from '../../components/resource';
import { Table } from '../../components/table';
import { Outcome } from '../webhooks/delivery';
import type { Automation } from './automations-page';
import { editedOf } from './trigger-editor';

const REFRESH_MS = 5000;

interface AutomationHistoryProps {
  readonly factoryUid: string;
  readonly automation: Automation;
}

/** Runs that it has started, and what it has decided about the latest deliveries of its webhooks. */
export function AutomationHistory({ factoryUid, automation }: AutomationHistoryProps) {
  const runs = useResource(
    () => content(api.GET('/agent/runs', { params: { query: { automation_id: automation.uid, limit: 50 } } })),
    automation.uid,
    REFRESH_MS,
  );
  const webhookUids = automation.triggers
    .map(editedOf)
    .flatMap(({ webhookUid }) => (webhookUid === '' ? [] : [webhookUid]));
  const log = useResource(
    async () => {
      const pages = await Promise.all(
        [...new Set(webhookUids)].map(async (uid) => {
          const params = { path: { factoryUid, uid }, query: { limit: 20, outcome: 'Accepted' as const } };
          const page = await content(api.GET('/factories/{factoryUid}/webhooks/{uid}/deliveries', { params }));
          return page.deliveries.map((delivery) => ({ uid, delivery }));
        }),
      );
      return pages.flat().sort((a, b) => (a.delivery.delivery_id < b.delivery.delivery_id ? 1 : -1));
    },
    webhookUids.join(),
    REFRESH_MS,
  );
  return (
    <>
      <h2 class="section">Runs</h2>
      <Failure message={runs.failure} />
      {runs.data?.runs.length === 0 && <p class="muted">It has not started a run yet.</p>}
      {runs.data !== undefined && runs.data.runs.length > 0 && (
        <Table label="Runs of the automation" columns={['Run', 'State', 'Created']}>
          {runs.data.runs.map(({ run_id: runId, state, created_at: at }) => (
            <tr key={runId}>
              <td>
                <Link to={`runs/${runId}`}>
                  Run <code>{runId.slice(-6)}</code>
                </Link>
              </td>
              <td>
                <StateBadge state={state} />
              </td>
              <td>
                <Time at={at} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {webhookUids.length > 0 && (
        <>
          <h2 class="section">Latest deliveries</h2>
          <Failure message={log.failure} />
          {log.data?.length === 0 && <p class="muted">No delivery was accepted yet.</p>}
          {log.data !== undefined && log.data.length > 0 && (
            <Table label="Latest deliveries" columns={['Received', 'Outcome', 'Reason', 'Run']}>
              {log.data.map(({ uid, delivery }) => {
                const result = delivery.automation_results?.find((one) => one.automation_uid === automation.uid);
                return (
                  <tr key={delivery.delivery_id}>
                    <td>
                      <Link to={`webhooks/${uid}?factory=${factoryUid}&delivery=${delivery.delivery_id}`}>
                        <Time at={delivery.received_at} />
                      </Link>
                    </td>
                    <td>
                      {result === undefined ? (
                        <Outcome delivery={delivery} />
                      ) : (
                        <Badge look={result.matched ? 'good' : 'off'}>
                          {result.matched ? 'Matched' : 'Did not match'}
                        </Badge>
                      )}
                    </td>
                    <td class="untrusted reason">
                      {result?.reason ?? 'It arrived before this automation selected it.'}
                    </td>
                    <td>{result?.run_id !== undefined && <Link to={`runs/${result.run_id}`}>Run</Link>}</td>
                  </tr>
                );
              })}
            </Table>
          )}
        </>
      )}
    </>
  );
}
