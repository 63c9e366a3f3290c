import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, ApiProblem, content, messageOf, type Schemas } from '../../api/client';
import { Failure, Link, Time, Badge } from '../../components/basics';

type Delivery = Schemas['WebhookDelivery'];
type Test = Schemas['TestTriggerResponse'];

const DELAY_MS = 400;

interface TestProps {
  readonly factoryUid: string;
  readonly webhookUid: string;
  /** Undefined: it cannot be sent. */
  readonly trigger: Schemas['CreateAutomationRequest']['triggers'][number] | undefined;
  readonly deliveries: readonly Delivery[];
}

/** Which of the latest deliveries the trigger would match, and why. Nothing is started. */
export function TriggerTest({ factoryUid, webhookUid, trigger, deliveries }: TestProps) {
  const results = useSignal<ReadonlyMap<string, Test>>(new Map());
  const failure = useSignal('');
  const key = JSON.stringify([trigger, deliveries.map(({ delivery_id: id }) => id)]);
  useEffect(() => {
    let isCurrent = true;
    const test = async (): Promise<void> => {
      if (trigger === undefined) return;
      const found = new Map<string, Test>();
      const params = { path: { factoryUid } };
      try {
        // One after the other: an invalid trigger is reported once.
        for (const { delivery_id: id } of deliveries) {
          const body = { trigger, delivery_id: id };
          found.set(id, await content(api.POST('/factories/{factoryUid}/automations/test', { params, body })));
          if (!isCurrent) return;
        }
        results.value = found;
        failure.value = '';
      } catch (error) {
        if (isCurrent) failure.value = explain(error);
      }
    };
    const timer = setTimeout(() => void test(), DELAY_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [key]);
  if (deliveries.length === 0)
    return (
      <p class="muted">
        No delivery is stored yet. <Link to={`webhooks/${webhookUid}?factory=${factoryUid}`}>Open the webhook</Link> and
        send a test delivery: the filter is then tested here while you edit it.
      </p>
    );
  const matched = [...results.value.values()].filter((one) => one.would_trigger).length;
  return (
    <section aria-label="Test with deliveries">
      <Failure message={failure.value} />
      {trigger !== undefined && failure.value === '' && (
        <p role="status">
          {matched} of the last {deliveries.length} deliveries match.
        </p>
      )}
      <ul class="card results" aria-label="Latest deliveries">
        {deliveries.map(({ delivery_id: id, received_at: at }) => {
          const result = failure.value === '' ? results.value.get(id) : undefined;
          return (
            <li key={id}>
              <Badge look={result?.would_trigger === true ? 'good' : 'off'}>
                {result === undefined ? 'Not tested' : result.would_trigger ? 'Matches' : 'Does not match'}
              </Badge>
              <Link to={`webhooks/${webhookUid}?factory=${factoryUid}&delivery=${id}`}>
                <Time at={at} />
              </Link>
              <span class="muted untrusted">
                {result?.checks.find(({ passed }) => !passed)?.reason ?? result?.checks.at(-1)?.reason ?? ''}
              </span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

const explain = (error: unknown): string =>
  error instanceof ApiProblem && error.fields.length > 0
    ? error.fields
        .map(({ pointer, detail }) => `${pointer.replace(/^\/trigger(\/filter\/payload)?/, '')} ${detail}`.trim())
        .join('; ')
    : messageOf(error);
