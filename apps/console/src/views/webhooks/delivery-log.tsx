import { useSignal } from '@preact/signals';
import { api, content, type Schemas } from '../../api/client';
import { Action, Empty, Failure, Link, Time } from '../../components/basics';
import { useResource } from '../../components/resource';
import { Table } from '../../components/table';
import { bytes } from '../../format';
import { query, setQuery } from '../../router';
import { type Delivery, Outcome, reasonOf } from './delivery';
import type { Webhook } from './providers';

const OUTCOMES = [
  'Accepted',
  'Duplicate',
  'Rejected (auth)',
  'Rejected (invalid JSON)',
  'Rejected (too large)',
] as const satisfies readonly Schemas['WebhookDeliveryOutcome'][];
const REFRESH_MS = 2000;
const PAGE = 20;

/** The first page is read again; pages that were loaded later stay below it. */
export function DeliveryLog({ factoryUid, webhook }: { readonly factoryUid: string; readonly webhook: Webhook }) {
  const rows = useSignal<readonly Delivery[] | undefined>(undefined);
  const cursor = useSignal<string | undefined>(undefined);
  const outcome = OUTCOMES.find((known) => known === query.value.get('outcome'));
  const path = { factoryUid, uid: webhook.uid };
  const page = (from: string | undefined) =>
    content(
      api.GET('/factories/{factoryUid}/webhooks/{uid}/deliveries', {
        params: {
          path,
          query: {
            limit: PAGE,
            ...(outcome !== undefined && { outcome }),
            ...(from !== undefined && { cursor: from }),
          },
        },
      }),
    );
  const read = useResource(
    async () => {
      const first = await page(undefined);
      const oldest = first.deliveries.at(-1)?.delivery_id ?? '';
      const known = rows.value ?? [];
      // Without a common row there may be others between them.
      const isContinued = known.some(({ delivery_id: id }) => id === oldest);
      const rest = isContinued ? known.slice(known.findIndex(({ delivery_id: id }) => id === oldest) + 1) : [];
      rows.value = [...first.deliveries, ...rest];
      if (rest.length === 0) cursor.value = first.page_info.next_cursor;
    },
    webhook.uid,
    REFRESH_MS,
  );
  const more = async (): Promise<void> => {
    const next = await page(cursor.value);
    rows.value = [...(rows.value ?? []), ...next.deliveries];
    cursor.value = next.page_info.next_cursor;
  };
  return (
    <>
      <div class="tools">
        <div class="chips" role="group" aria-label="Outcomes">
          {OUTCOMES.map((known) => (
            <button
              type="button"
              class="chip"
              key={known}
              aria-pressed={known === outcome}
              onClick={() => setQuery({ outcome: known === outcome ? null : known })}
            >
              {known}
            </button>
          ))}
        </div>
      </div>
      <Failure message={read.failure} />
      {rows.value === undefined && read.failure === '' && <p role="status">Loading …</p>}
      {rows.value?.length === 0 &&
        (outcome === undefined ? (
          <Empty title="No delivery yet">
            <p>Deliveries appear here as they arrive. Send a test delivery to see one without a sender.</p>
          </Empty>
        ) : (
          <Empty title="No delivery has this outcome" />
        ))}
      {rows.value !== undefined && rows.value.length > 0 && (
        <Table label="Deliveries" columns={['Received', 'Outcome', 'Reason', 'Runs', 'Size']}>
          {rows.value.map((delivery) => (
            <tr key={delivery.delivery_id}>
              <td>
                <Link to={`webhooks/${webhook.uid}?factory=${factoryUid}&delivery=${delivery.delivery_id}`}>
                  <Time at={delivery.received_at} />
                </Link>
              </td>
              <td>
                <Outcome delivery={delivery} />
                {delivery.count !== undefined && <span class="muted"> ×{delivery.count}</span>}
                {delivery.test === true && <div class="muted">Test</div>}
                {delivery.redelivery_of !== undefined && <div class="muted">Redelivery</div>}
              </td>
              <td class="untrusted reason">{reasonOf(delivery)}</td>
              <td>
                {delivery.automation_results?.map(({ run_id: runId }) =>
                  runId === undefined ? null : (
                    <div key={runId}>
                      <Link to={`runs/${runId}`}>
                        Run <code>{runId.slice(-6)}</code>
                      </Link>
                    </div>
                  ),
                )}
              </td>
              <td>{bytes(delivery.size_bytes)}</td>
            </tr>
          ))}
        </Table>
      )}
      {cursor.value !== undefined && (
        <p class="empty">
          <Action run={more}>Show more</Action>
        </p>
      )}
    </>
  );
}
