import { useSignal } from '@preact/signals';
import { api, content, type Schemas } from '../../api/client';
import { Action, Failure, Link, Time, Badge, type Look } from '../../components/basics';
import { Copy } from '../../components/copy';
import { useResource } from '../../components/resource';
import { bytes } from '../../format';
import { setQuery } from '../../router';
import type { Webhook } from './providers';
import { indentJson } from './json-text';

export type Delivery = Schemas['WebhookDelivery'];
type Result = Schemas['WebhookAutomationResult'];
/** Names of automations by their UIDs. */
export type Names = ReadonlyMap<string, string>;

const LOOK: Readonly<Record<string, Look>> = { Accepted: 'good', Duplicate: 'off', Handshake: 'off' };

export function Outcome({ delivery }: { readonly delivery: Delivery }) {
  const outcome: string = delivery.outcome ?? 'Handshake';
  return (
    <Badge look={LOOK[outcome] ?? 'bad'} data-outcome={outcome}>
      {outcome}
    </Badge>
  );
}

const REASONS: Readonly<Record<string, string>> = {
  Duplicate: 'A delivery with the same identity was accepted before. Nothing was started.',
  'Rejected (auth)': 'The token or signature is missing or wrong. Compare the secret at the sender.',
  'Rejected (invalid JSON)': 'The body is not JSON in UTF-8. Forms and compressed bodies are not JSON.',
  'Rejected (too large)': 'The body has more than 256 KiB.',
};

/** In one sentence. */
export function reasonOf(delivery: Delivery): string {
  const { outcome, automation_results: results, evaluation_error: failure } = delivery;
  if (outcome === undefined) return 'The sender has checked the address. Such a request starts nothing.';
  if (outcome !== 'Accepted') return REASONS[outcome] ?? '';
  if (failure !== undefined) return `The evaluation was abandoned: ${failure}`;
  if (results === undefined) return 'It is stored and waits for its evaluation.';
  if (results.length === 0) return 'No automation selects this webhook, so nothing was started.';
  const started = results.filter(({ run_id: runId }) => runId !== undefined).length;
  if (started > 0) return started === 1 ? 'It started a run.' : `It started ${started} runs.`;
  const [first] = results;
  return results.some(({ matched }) => matched)
    ? 'An automation matched, but its run could not be created.'
    : `No automation matched. ${results.length === 1 ? (first?.reason ?? '') : ''}`;
}

export const Results = ({
  results,
  names,
  factoryUid,
}: {
  readonly results: readonly Result[];
  readonly names: Names;
  readonly factoryUid: string;
}) => (
  <ul class="card results" aria-label="Automations">
    {results.map(({ automation_uid: uid, matched, run_id: runId, reason }) => (
      <li key={uid}>
        <Badge look={matched ? 'good' : 'off'}>{matched ? 'Matched' : 'Did not match'}</Badge>
        <Link to={`automations/${uid}?factory=${factoryUid}`}>{names.get(uid) ?? 'Deleted automation'}</Link>
        {runId !== undefined && (
          <Link to={`runs/${runId}`}>
            Run <code>{runId.slice(-6)}</code>
          </Link>
        )}
        <span class="muted untrusted">{reason}</span>
      </li>
    ))}
  </ul>
);

const REFRESH_MS = 1500;

interface DetailProps {
  readonly factoryUid: string;
  readonly webhook: Webhook;
  readonly deliveryId: string;
  readonly names: Names;
}

export function DeliveryDetail({ factoryUid, webhook, deliveryId, names }: DetailProps) {
  const path = { factoryUid, uid: webhook.uid, deliveryId };
  const found = useSignal<Schemas['WebhookDeliveryWithPayload'] | undefined>(undefined);
  const isRaw = useSignal(false);
  const read = useResource(
    async () => {
      // It changes until it is evaluated.
      const known = found.value;
      if (known !== undefined && (known.outcome !== 'Accepted' || known.automation_results !== undefined)) return;
      found.value = await content(
        api.GET('/factories/{factoryUid}/webhooks/{uid}/deliveries/{deliveryId}', { params: { path } }),
      );
    },
    deliveryId,
    REFRESH_MS,
  );
  const delivery = found.value;
  const back = (
    <button type="button" class="plain" onClick={() => setQuery({ delivery: null })}>
      ← All deliveries
    </button>
  );
  if (delivery === undefined)
    return (
      <>
        {back}
        {read.failure === '' ? <p role="status">Loading …</p> : <Failure message={read.failure} />}
      </>
    );
  const { payload, headers = {}, automation_results: results } = delivery;
  const other = (label: string, id: string | undefined) =>
    id === undefined ? null : (
      <>
        <dt>{label}</dt>
        <dd>
          <Link to={`webhooks/${webhook.uid}?factory=${factoryUid}&delivery=${id}`}>
            <code>{id}</code>
          </Link>
        </dd>
      </>
    );
  return (
    <section aria-label="Delivery" class="history">
      <div class="actions">
        {back}
        {delivery.outcome === 'Accepted' && webhook.enabled && (
          <Action
            run={async () => {
              const { delivery_id: id } = await content(
                api.POST('/factories/{factoryUid}/webhooks/{uid}/deliveries/{deliveryId}/redeliver', {
                  params: { path },
                }),
              );
              setQuery({ delivery: id });
            }}
          >
            Redeliver
          </Action>
        )}
      </div>
      <div class="actions">
        <Outcome delivery={delivery} />
        {delivery.test === true && <span class="muted">Test</span>}
        <Time at={delivery.received_at} />
        <span class="untrusted">{reasonOf(delivery)}</span>
      </div>
      {results !== undefined && results.length > 0 && (
        <Results results={results} names={names} factoryUid={factoryUid} />
      )}
      {results?.length === 0 && (
        <p>
          <Link to={`automations/new?factory=${factoryUid}&webhook=${webhook.uid}`}>Create an automation</Link> that
          starts a run for such deliveries, then redeliver this one.
        </p>
      )}
      <dl class="card facts-list">
        <dt>Delivery</dt>
        <dd>
          <code>{delivery.delivery_id}</code>
        </dd>
        {delivery.identity !== undefined && delivery.identity !== delivery.delivery_id && (
          <>
            <dt>Identity</dt>
            <dd>
              <code class="untrusted">{delivery.identity}</code>
            </dd>
          </>
        )}
        {other('Duplicate of', delivery.duplicate_of)}
        {other('Redelivery of', delivery.redelivery_of)}
        <dt>From</dt>
        <dd>{delivery.source_ip}</dd>
        <dt>Size</dt>
        <dd>{bytes(delivery.size_bytes)}</dd>
        {delivery.count !== undefined && (
          <>
            <dt>Requests</dt>
            <dd>{delivery.count} within a minute</dd>
          </>
        )}
      </dl>
      {payload !== undefined && (
        <div>
          <div class="actions">
            <h2>Body</h2>
            <button
              type="button"
              aria-pressed={isRaw.value}
              onClick={() => {
                isRaw.value = !isRaw.value;
              }}
            >
              As sent
            </button>
            <Copy text={payload} />
          </div>
          <pre class="untrusted" tabIndex={0} aria-label="Body">
            {isRaw.value ? payload : indentJson(payload)}
          </pre>
        </div>
      )}
      {payload === undefined && <p class="muted">The body of this delivery is not stored.</p>}
      {Object.keys(headers).length > 0 && (
        <div>
          <h2>Headers</h2>
          <p class="muted">Credentials and signatures are not stored.</p>
          <dl class="card facts-list">
            {Object.entries(headers).map(([name, value]) => (
              <>
                <dt>{name}</dt>
                <dd class="untrusted">{value}</dd>
              </>
            ))}
          </dl>
        </div>
      )}
    </section>
  );
}
