import { useSignal } from '@preact/signals';
import { api, content, type Schemas } from '../../api/client';
import { Failure, Link, Time, usePageTitle } from '../../components/basics';
import { textOf, useOperation } from '../../components/operation';
import { useResource } from '../../components/resource';
import { query, setQuery } from '../../router';
import { principal } from '../../session';

type Decision = Schemas['DecideDeviceAuthorizationRequest']['decision'];

const DAY_MS = 86_400_000;
/** Days; 0: the token does not expire. */
const VALIDITIES: readonly { readonly days: number; readonly label: string }[] = [
  { days: 1, label: '1 day' },
  { days: 7, label: '7 days' },
  { days: 30, label: '30 days' },
  { days: 90, label: '90 days' },
  { days: 0, label: 'Until it is revoked' },
];
const DEFAULT_DAYS = 30;

/** Where a user approves `headrace login`: the program shows the code that this page compares. */
export function DevicePage() {
  const code = query.value.get('user_code') ?? '';
  usePageTitle('Approve a login');
  return (
    <div class="device">
      <h1>Approve a login</h1>
      {code === '' ? <CodeForm /> : <Request key={code} code={code} />}
    </div>
  );
}

const CodeForm = () => (
  <form
    class="card form"
    onSubmit={(event) => {
      event.preventDefault();
      setQuery({ user_code: textOf(new FormData(event.currentTarget), 'code').trim().toUpperCase() });
    }}
  >
    <div class="field">
      <label for="code">Code that the program shows</label>
      <input
        id="code"
        name="code"
        class="code"
        required
        maxLength={20}
        autoComplete="off"
        autoCapitalize="characters"
        spellcheck={false}
        placeholder="XXXX-XXXX"
      />
    </div>
    <div class="actions">
      <button class="primary">Continue</button>
    </div>
  </form>
);

function Request({ code }: { readonly code: string }) {
  const path = { userCode: code };
  const decided = useSignal<Decision | null>(null);
  const operation = useOperation();
  const { data, failure } = useResource(
    () => content(api.GET('/device-authorizations/{userCode}', { params: { path } })),
    code,
  );
  const decide = (decision: Decision, days: number): Promise<boolean> =>
    operation.execute(async () => {
      const expires = decision === 'approve' && days > 0;
      const body = {
        decision,
        ...(expires && { token_expires_at: new Date(Date.now() + days * DAY_MS).toISOString() }),
      };
      await content(api.POST('/device-authorizations/{userCode}/decision', { params: { path }, body }));
      decided.value = decision;
    });
  if (decided.value !== null)
    return (
      <div class="card form" role="status">
        <h2>{decided.value === 'approve' ? 'The program is logged in' : 'The login was denied'}</h2>
        <p>
          {decided.value === 'approve'
            ? 'Return to the program. Its token is in the list of your tokens, where you can revoke it.'
            : 'The program gets no access. You can close this page.'}
        </p>
        <Link to="runs">Show the runs</Link>
      </div>
    );
  if (data === undefined)
    return failure === '' ? (
      <p role="status">Loading …</p>
    ) : (
      <>
        <Failure message={failure} />
        <CodeForm />
      </>
    );
  return (
    <form
      class="card form"
      onSubmit={(event) => {
        event.preventDefault();
        void decide('approve', Number(textOf(new FormData(event.currentTarget), 'days')));
      }}
    >
      <p>
        A program asks to act as <strong>{principal.value?.display_name}</strong>, with all of your permissions.
      </p>
      <dl class="details">
        <dt>Code</dt>
        <dd>
          <code class="code">{code}</code>
        </dd>
        <dt>Program</dt>
        <dd>{data.client_name}</dd>
        <dt>Address</dt>
        <dd>{data.address}</dd>
        <dt>Asked</dt>
        <dd>
          <Time at={data.created_at} />
        </dd>
      </dl>
      <p class="muted">
        Approve it only if you have just started it yourself and it shows the same code. Never approve a code that
        somebody has sent to you.
      </p>
      <div class="field">
        <label for="days">Token is valid for</label>
        <select id="days" name="days">
          {VALIDITIES.map(({ days, label }) => (
            <option key={days} value={days} selected={days === DEFAULT_DAYS}>
              {label}
            </option>
          ))}
        </select>
      </div>
      <Failure message={operation.failure} />
      <div class="actions">
        <button class="primary" disabled={operation.isBusy}>
          Approve
        </button>
        <button type="button" class="danger" disabled={operation.isBusy} onClick={() => void decide('deny', 0)}>
          Deny
        </button>
      </div>
    </form>
  );
}
