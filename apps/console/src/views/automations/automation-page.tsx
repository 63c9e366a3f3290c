import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { api, content, type Schemas } from '../../api/client';
import { Action, Badge, Empty, Failure, Link, usePageTitle } from '../../components/basics';
import { ConfigFields, configOf } from '../../components/config-fields';
import { Field, Form } from '../../components/form';
import { textOf } from '../../components/operation';
import { useResource } from '../../components/resource';
import { currentTab, Tabs } from '../../components/tabs';
import { navigate, query } from '../../router';
import { useFactories } from '../webhooks/factories';
import { placeholderOf, scalarsOf } from '../webhooks/json-text';
import { AutomationHistory } from './automation-history';
import { type Automation, requestOf } from './automations-page';
import { newTrigger, type EditedTrigger, editedOf, triggerOf, TriggerEditor } from './trigger-editor';

type Request = Schemas['ReplaceAutomationRequest'];

const TABS = ['edit', 'history'] as const;

/** `automations/new`, or the page of one. */
export function AutomationPage({ id }: { readonly id: string }) {
  const { factory, failure } = useFactories();
  if (factory === undefined) return failure === '' ? <p role="status">Loading …</p> : <Failure message={failure} />;
  return id === 'new' ? <New factoryUid={factory.uid} /> : <Page key={id} factoryUid={factory.uid} uid={id} />;
}

function New({ factoryUid }: { readonly factoryUid: string }) {
  usePageTitle('New automation');
  return (
    <>
      <div class="head">
        <h1>New automation</h1>
      </div>
      <Editor factoryUid={factoryUid} automation={undefined} />
    </>
  );
}

function Page({ factoryUid, uid }: { readonly factoryUid: string; readonly uid: string }) {
  const params = { path: { factoryUid, uid } };
  const read = useResource(() => content(api.GET('/factories/{factoryUid}/automations/{uid}', { params })), uid);
  const automation = read.data;
  usePageTitle(automation?.name ?? 'Automation');
  if (automation === undefined)
    return read.failure === '' ? (
      <p role="status">Loading …</p>
    ) : (
      <Empty title="Automation not found" isPage>
        <p>{read.failure}</p>
        <Link to="automations">Show the automations</Link>
      </Empty>
    );
  const tab = currentTab(TABS);
  return (
    <>
      <div class="head">
        <h1 class="untrusted">{automation.name}</h1>
        <Badge look={automation.enabled ? 'good' : 'off'}>{automation.enabled ? 'Enabled' : 'Disabled'}</Badge>
        <div class="actions">
          <Action
            run={async () => {
              const body = { ...requestOf(automation), enabled: !automation.enabled };
              await content(api.PUT('/factories/{factoryUid}/automations/{uid}', { params, body }));
              await read.reload();
            }}
          >
            {automation.enabled ? 'Disable' : 'Enable'}
          </Action>
          <Action
            class="danger"
            confirm={`Delete the automation ${automation.name}? Runs that it has started continue.`}
            run={async () => {
              await content(api.DELETE('/factories/{factoryUid}/automations/{uid}', { params }));
              navigate(`automations?factory=${factoryUid}`);
            }}
          >
            Delete
          </Action>
        </div>
      </div>
      <Tabs
        label="Parts of the automation"
        tabs={TABS}
        path={`automations/${uid}?factory=${factoryUid}`}
        current={tab}
      />
      {tab === 'edit' && <Editor factoryUid={factoryUid} automation={automation} onSaved={read.reload} />}
      {tab === 'history' && <AutomationHistory factoryUid={factoryUid} automation={automation} />}
    </>
  );
}

interface EditorProps {
  readonly factoryUid: string;
  readonly automation: Automation | undefined;
  /** Not of a new one, which then has its own page. */
  readonly onSaved?: () => Promise<void>;
}

const RECENT = 8;

function Editor({ factoryUid, automation, onSaved }: EditorProps) {
  const path = { factoryUid };
  const readWebhooks = () => content(api.GET('/factories/{factoryUid}/webhooks', { params: { path } }));
  const webhooks = useResource(readWebhooks, factoryUid);
  const identities = useResource(() => content(api.GET('/agent/identities')), '');
  const fields = useSignal({
    name: automation?.name ?? '',
    enabled: true,
    prompt: automation?.prompt ?? '',
  });
  const triggers = useSignal<readonly EditedTrigger[]>(
    automation?.triggers.map(editedOf) ?? [newTrigger(query.value.get('webhook') ?? '')],
  );
  const prompt = useRef<HTMLTextAreaElement>(null);
  const known = webhooks.data?.webhooks ?? [];
  const chosen =
    triggers.value.find(({ kind, webhookUid }) => kind === 'webhook' && webhookUid !== '')?.webhookUid ??
    (triggers.value.some(({ kind }) => kind === 'webhook') ? known[0]?.uid : undefined);
  const samples = useResource(async () => {
    if (chosen === undefined) return [];
    const params = { path: { factoryUid, uid: chosen } };
    const { deliveries } = await content(
      api.GET('/factories/{factoryUid}/webhooks/{uid}/deliveries', {
        params: { ...params, query: { limit: 1, outcome: 'Accepted' } },
      }),
    );
    const [latest] = deliveries;
    if (latest === undefined) return [];
    const { payload = 'null' } = await content(
      api.GET('/factories/{factoryUid}/webhooks/{uid}/deliveries/{deliveryId}', {
        params: { path: { ...params.path, deliveryId: latest.delivery_id } },
      }),
    );
    return scalarsOf(JSON.parse(payload));
  }, chosen ?? '');
  const set = (changes: Partial<typeof fields.value>): void => {
    fields.value = { ...fields.value, ...changes };
  };
  const { name } = fields.value;
  const identity = automation?.agent_identity_uid ?? '';
  const agents = identities.data?.agents ?? [];
  const isSaved = useSignal(false);

  const request = async (data: FormData): Promise<Request> => {
    // A form that is sent before the list has come must not say that there is no webhook.
    const [firstWebhook] = (webhooks.data ?? (await readWebhooks())).webhooks;
    const config = configOf(data, automation?.agent_config);
    const identity = textOf(data, 'identity');
    const concurrency = concurrencyOf(data, automation?.concurrency);
    return {
      name: name.trim(),
      enabled: automation?.enabled ?? fields.value.enabled,
      prompt: fields.value.prompt,
      triggers: triggers.value.map((one) => triggerOf(one, firstWebhook?.uid)),
      ...(config !== undefined && { agent_config: config }),
      ...(identity !== '' && { agent_identity_uid: identity }),
      ...(concurrency && { concurrency }),
      // This form does not have it.
      ...(automation?.answers && { answers: automation.answers }),
      ...(automation?.event_repository === true && { event_repository: true }),
    };
  };
  const save = async (data: FormData): Promise<void> => {
    isSaved.value = false;
    const body = await request(data);
    if (automation === undefined) {
      const { uid } = await content(api.POST('/factories/{factoryUid}/automations', { params: { path }, body }));
      navigate(`automations/${uid}?factory=${factoryUid}`);
      return;
    }
    const params = { path: { factoryUid, uid: automation.uid } };
    await content(api.PUT('/factories/{factoryUid}/automations/{uid}', { params, body }));
    await onSaved?.();
    isSaved.value = true;
  };
  const insert = (text: string): void => {
    const area = prompt.current;
    if (!area) return;
    area.setRangeText(text, area.selectionStart, area.selectionEnd, 'end');
    set({ prompt: area.value });
    area.focus();
  };
  const fieldList = 'payload-fields';
  const isDefined = automation?.source === 'definition';

  return (
    <Form
      class="form wide"
      submit={automation === undefined ? 'Create automation' : 'Save'}
      send={save}
      actions={isSaved.value && <span role="status">Saved.</span>}
    >
      {isDefined && <p>The definition files of the factory have this automation. Their next apply reverts changes.</p>}
      <div class="pair">
        <Field label="Name" hint="Also the title of its runs." pointer="/name">
          {(control) => (
            <input
              {...control}
              required
              maxLength={128}
              disabled={isDefined}
              value={name}
              onInput={({ currentTarget }) => set({ name: currentTarget.value })}
            />
          )}
        </Field>
        {automation === undefined && (
          <label class="check">
            <input
              type="checkbox"
              checked={fields.value.enabled}
              onChange={({ currentTarget }) => set({ enabled: currentTarget.checked })}
            />
            Enabled
          </label>
        )}
      </div>
      <h2>Start a run on any of these events</h2>
      <datalist id={fieldList}>
        {samples.data?.map(({ keys }) => {
          const field = keys.filter((key) => typeof key === 'string').join('.');
          return <option value={field} key={field} />;
        })}
      </datalist>
      {triggers.value.map((trigger, index) => (
        <TriggerEditor
          key={trigger.id}
          label={`Event ${index + 1}`}
          factoryUid={factoryUid}
          trigger={trigger}
          webhooks={known}
          suggestions={fieldList}
          recent={RECENT}
          onChange={(changed) => {
            triggers.value = triggers.value.map((one) => (one.id === changed.id ? changed : one));
          }}
          {...(triggers.value.length > 1 && {
            onRemove: () => {
              triggers.value = triggers.value.filter((one) => one.id !== trigger.id);
            },
          })}
        />
      ))}
      <div>
        <button
          type="button"
          onClick={() => {
            triggers.value = [...triggers.value, newTrigger(known[0]?.uid ?? '')];
          }}
        >
          Add event
        </button>
      </div>
      <h2>The run</h2>
      <Field
        label="Prompt"
        hint="The agent gets this text and the event as the file event-payload.json. Values of the event are inserted as data."
        pointer="/prompt"
      >
        {(control) => (
          <textarea
            {...control}
            ref={prompt}
            class="code"
            rows={8}
            required
            value={fields.value.prompt}
            onInput={({ currentTarget }) => set({ prompt: currentTarget.value })}
          />
        )}
      </Field>
      {samples.data !== undefined && samples.data.length > 0 && (
        <details>
          <summary>Insert a value of the event ({samples.data.length})</summary>
          <div class="chips variables">
            {samples.data.map(({ keys, value }) => {
              const placeholder = placeholderOf(keys);
              return (
                <button
                  type="button"
                  class="chip untrusted"
                  key={placeholder}
                  title={String(value).slice(0, 200)}
                  onClick={() => insert(placeholder)}
                >
                  {keys.join('.')}
                </button>
              );
            })}
          </div>
        </details>
      )}
      <ConfigFields pointer="/agent_config" {...(automation?.agent_config && { config: automation.agent_config })} />
      <Field label="Agent identity" pointer="/agent_identity_uid">
        {(control) => (
          <select {...control} name="identity">
            <option value="">None</option>
            {/* Saving keeps one that is not in the list, or before the list is there. */}
            {identity !== '' && !agents.some(({ uid }) => uid === identity) && (
              <option value={identity} key={identity} selected>
                {identity}
              </option>
            )}
            {agents.map(({ uid, name: label }) => (
              <option value={uid} key={uid} selected={uid === identity}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field
        label="When a run for the same issue, pull request or key exists"
        hint="A follow-up needs an event of GitHub or GitLab."
        pointer="/concurrency/policy"
      >
        {(control) => (
          <select {...control} name="policy">
            {POLICIES.map(([policy, label]) => (
              <option value={policy} key={policy} selected={policy === (automation?.concurrency?.policy ?? 'allow')}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
    </Form>
  );
}

const POLICIES = [
  ['allow', 'Start another run'],
  ['skip', 'Start no run while it is active'],
  ['supersede', 'Cancel it, and start another run'],
  ['continue', 'Send it a follow-up'],
  ['queue', 'Start another run when it has ended'],
  ['debounce', 'Start another run when no more events follow'],
] as const;

/** The key, the limit and the delay, which this form does not have, stay. Absent: the default. */
function concurrencyOf(data: FormData, before: Automation['concurrency']): Request['concurrency'] {
  const policy = POLICIES.map(([name]) => name).find((name) => name === textOf(data, 'policy')) ?? 'allow';
  if (before === undefined && policy === 'allow') return undefined;
  const { max_followups: limit, delay_seconds: delay, ...kept } = before ?? {};
  return {
    ...kept,
    policy,
    ...(policy === 'continue' && limit !== undefined && { max_followups: limit }),
    ...(policy === 'debounce' && delay !== undefined && { delay_seconds: delay }),
  };
}
