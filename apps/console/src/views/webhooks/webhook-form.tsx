import { signal, useSignal } from '@preact/signals';
import { api, content, messageOf } from '../../api/client';
import { DialogForm, Field, Form } from '../../components/form';
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
  /** Of a dialog; without it the form is a part of the page. */
  readonly onClose?: () => void;
}

export function WebhookForm({ factory, onClose }: FormProps) {
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

  const create = async (data: FormData): Promise<void> => {
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

  const fields = (
    <>
      <div class="pair">
        <Field
          label="Sender"
          hint={
            mode === 'token'
              ? 'Works with curl and every system that can send a header.'
              : mode === 'url_token'
                ? 'For senders for which only an address can be configured.'
                : 'The sender signs its deliveries.'
          }
        >
          {(control) => (
            <select
              {...control}
              name="provider"
              value={provider.value}
              onChange={({ currentTarget }) => {
                provider.value = currentTarget.value;
                secret.value =
                  authOf(currentTarget.value).auth_mode === 'signature' &&
                  secretSource(currentTarget.value) === 'chosen'
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
          )}
        </Field>
        <Field label="Name" hint="Shown in lists and runs." pointer="/name">
          {(control) => <input {...control} name="name" required maxLength={200} defaultValue="events" />}
        </Field>
      </div>
      {source === 'handshake' && <p class="muted">The sender transmits its secret after it has the address.</p>}
      {(source === 'chosen' || source === 'sender') && (
        <Field
          label="Secret"
          hint={
            source === 'chosen'
              ? 'Generated here; enter the same value at the sender.'
              : 'If the sender displays it later, leave this empty: the webhook waits for it.'
          }
          pointer="/secret"
        >
          {(control) => (
            <input
              {...control}
              autocomplete="off"
              value={secret.value}
              onInput={({ currentTarget }) => {
                secret.value = currentTarget.value;
              }}
            />
          )}
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
        <Field label="Prompt of the run" hint="It can be changed later, with a filter, under Automations.">
          {(control) => (
            <textarea {...control} name="prompt" class="code" rows={5} required defaultValue={DEFAULT_PROMPT} />
          )}
        </Field>
      )}
      <details>
        <summary>More settings</summary>
        <Field
          label="Header with the delivery id"
          hint="By which repeated deliveries are recognised, if it is not the usual one of the sender."
          pointer="/delivery_id_header"
        >
          {(control) => <input {...control} name="header" maxLength={128} placeholder="x-event-id" />}
        </Field>
      </details>
    </>
  );
  return onClose === undefined ? (
    <Form submit="Create webhook" send={create}>
      {fields}
    </Form>
  ) : (
    <DialogForm title="New webhook" submit="Create webhook" send={create} onClose={onClose}>
      {fields}
    </DialogForm>
  );
}
