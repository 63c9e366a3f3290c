import { signal, useSignal } from '@preact/signals';
import { api, content, messageOf } from '../../api/client';
import { Failure } from '../../components/basics';
import { describedBy, Field, useFormOperation } from '../../components/form-operation';
import { textOf } from '../../components/operation';
import { useResource } from '../../components/resource';
import { navigate } from '../../router';
import type { Factory } from './factories';
import { authOf, DEFAULT_PROVIDER, newSecret, POPULAR, secretSource, type Webhook } from './providers';

/** The webhook that was created last, with its secret, until its page is left. */
export const created = signal<{ readonly webhook: Webhook; readonly failure: string } | null>(null);

/** The built-in agent executes it without a model. */
const DEFAULT_PROMPT = `Show what has happened.

\`\`\`sh
cat "$HEADRACE_ATTACHMENTS_DIR/event-payload.json"
\`\`\``;

interface FormProps {
  readonly factory: Factory;
  readonly onCancel?: () => void;
}

export function WebhookForm({ factory, onCancel }: FormProps) {
  const operation = useFormOperation(['/name', '/secret', '/delivery_id_header']);
  const schemes = useResource(() => content(api.GET('/webhook-signature-schemes')), '');
  const provider = useSignal(DEFAULT_PROVIDER);
  const startsRuns = useSignal(true);
  const secret = useSignal('');
  const { auth_mode: mode } = authOf(provider.value);
  const source = mode === 'signature' ? secretSource(provider.value) : 'generated';
  const all = schemes.data?.signature_schemes ?? [];
  const popular = POPULAR.flatMap((id) => all.filter((scheme) => scheme.id === id));
  const others = all.filter(({ id }) => !POPULAR.includes(id));
  const params = { path: { factoryUid: factory.uid } };

  const create = async (form: HTMLFormElement): Promise<void> => {
    const data = new FormData(form);
    const header = textOf(data, 'header').trim();
    const name = textOf(data, 'name').trim();
    const webhook = await content(
      api.POST('/factories/{factoryUid}/webhooks', {
        params,
        body: {
          name,
          ...authOf(provider.value),
          ...((source === 'chosen' || source === 'sender') && secret.value !== '' && { secret: secret.value }),
          ...(header !== '' && { delivery_id_header: header }),
        },
      }),
    );
    let failure = '';
    if (startsRuns.value) {
      const trigger = { provider: 'webhook', event: 'received', filter: { webhook_ids: [webhook.uid] } };
      const body = { name, enabled: true, prompt: textOf(data, 'prompt'), triggers: [trigger] };
      // The webhook exists: its page shows the secret, and why there is no automation.
      await content(api.POST('/factories/{factoryUid}/automations', { params, body })).catch((error: unknown) => {
        failure = `The automation was not created: ${messageOf(error)}`;
      });
    }
    created.value = { webhook, failure };
    navigate(`webhooks/${webhook.uid}?factory=${factory.uid}&tab=set-up`);
  };

  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        const form = event.currentTarget;
        void operation.execute(() => create(form));
      }}
    >
      <div class="pair">
        <Field
          id="provider"
          label="Sender"
          hint={
            mode === 'token'
              ? 'Works with curl and every system that can send a header.'
              : mode === 'url_token'
                ? 'For senders for which only an address can be configured.'
                : 'The sender signs its deliveries.'
          }
        >
          <select
            {...describedBy('provider')}
            name="provider"
            value={provider.value}
            onChange={({ currentTarget }) => {
              provider.value = currentTarget.value;
              secret.value =
                authOf(currentTarget.value).auth_mode === 'signature' && secretSource(currentTarget.value) === 'chosen'
                  ? newSecret()
                  : '';
            }}
          >
            <option value="token">Any sender, with a token in a header</option>
            <option value="url_token">Any sender, with a token in the address</option>
            <optgroup label="Frequent">
              {popular.map(({ id, label }) => (
                <option value={id} key={id}>
                  {label}
                </option>
              ))}
            </optgroup>
            <optgroup label="All others">
              {others.map(({ id, label }) => (
                <option value={id} key={id}>
                  {label}
                </option>
              ))}
            </optgroup>
          </select>
        </Field>
        <Field id="name" label="Name" hint="Shown in lists and runs." error={operation.errorOf('/name')}>
          <input
            {...describedBy('name', operation.errorOf('/name'))}
            name="name"
            required
            maxLength={200}
            defaultValue="events"
          />
        </Field>
      </div>
      {source === 'handshake' && <p class="muted">The sender transmits its secret after it has the address.</p>}
      {(source === 'chosen' || source === 'sender') && (
        <Field
          id="secret"
          label="Secret"
          hint={
            source === 'chosen'
              ? 'Generated here; enter the same value at the sender.'
              : 'If the sender displays it later, leave this empty: the webhook waits for it.'
          }
          error={operation.errorOf('/secret')}
        >
          <input
            {...describedBy('secret', operation.errorOf('/secret'))}
            autocomplete="off"
            value={secret.value}
            onInput={({ currentTarget }) => {
              secret.value = currentTarget.value;
            }}
          />
        </Field>
      )}
      <label class="check">
        <input
          type="checkbox"
          checked={startsRuns.value}
          onChange={({ currentTarget }) => {
            startsRuns.value = currentTarget.checked;
          }}
        />
        Start a run for each delivery
      </label>
      {startsRuns.value && (
        <Field id="prompt" label="Prompt of the run" hint="It can be changed later, with a filter, under Automations.">
          <textarea
            {...describedBy('prompt')}
            name="prompt"
            class="code"
            rows={5}
            required
            defaultValue={DEFAULT_PROMPT}
          />
        </Field>
      )}
      <details>
        <summary>More settings</summary>
        <Field
          id="header"
          label="Header with the delivery id"
          hint="By which repeated deliveries are recognised, if it is not the usual one of the sender."
          error={operation.errorOf('/delivery_id_header')}
        >
          <input
            {...describedBy('header', operation.errorOf('/delivery_id_header'))}
            name="header"
            maxLength={128}
            placeholder="x-event-id"
          />
        </Field>
      </details>
      <Failure message={operation.failure} />
      <div class="actions">
        <button class="primary" disabled={operation.isBusy}>
          Create webhook
        </button>
        {onCancel !== undefined && (
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        )}
      </div>
    </form>
  );
}
