import { useSignal } from '@preact/signals';
import { api, content, type Schemas } from '../../api/client';
import { Action, Failure, Time } from '../../components/basics';
import { SecretOnce } from '../../components/copy';
import { textOf, useSubmit } from '../../components/operation';
import { More, usePages } from '../../components/pages';
import { useResource } from '../../components/resource';
import { Table } from '../../components/table';
import { principal, team } from '../../session';

/** Tokens of the user, or of a service account. */
export function Tokens({ account }: { readonly account?: Schemas['ServiceAccountItem'] }) {
  const query = account === undefined ? {} : { service_account_uid: account.uid };
  const list = usePages(async (cursor) => {
    const page = { ...query, ...(cursor !== undefined && { cursor }) };
    const { tokens, page_info } = await content(api.GET('/tokens', { params: { query: page } }));
    return { items: tokens, page_info };
  }, account?.uid ?? '');
  const created = useSignal('');
  const operation = useSubmit(async (data) => {
    const expires = textOf(data, 'expires');
    const body = {
      name: textOf(data, 'name'),
      ...(expires !== '' && { expires_at: new Date(expires).toISOString() }),
      ...query,
    };
    created.value = (await content(api.POST('/tokens', { body }))).token;
    await list.reload();
  });
  return (
    <>
      <form class="tools" onSubmit={operation.onSubmit}>
        <input name="name" required maxLength={200} aria-label="Name of the token" placeholder="Name of the token" />
        <label>
          Expires <input name="expires" type="date" />
        </label>
        <button>Create token</button>
      </form>
      <Failure message={operation.failure || list.failure} />
      {created.value !== '' && <SecretOnce value={created.value} noun="token" />}
      <Table label="Tokens" columns={['Name', 'Token', 'Created', 'Expires', 'Last use', '']}>
        {list.items?.map((token) => (
          <tr key={token.uid}>
            <td>
              <strong>{token.name}</strong>
            </td>
            <td>
              <code>{token.prefix}</code>
            </td>
            <td>
              <Time at={token.created_at} />
            </td>
            <td>
              {token.expires_at === undefined ? <span class="muted">Never</span> : <Time at={token.expires_at} />}
            </td>
            <td>
              {token.last_used_at === undefined ? <span class="muted">Never</span> : <Time at={token.last_used_at} />}
            </td>
            <td>
              <Action
                class="danger"
                confirm={`Revoke the token ${token.name}? Programs that use it are rejected at once.`}
                run={async () => {
                  await content(api.DELETE('/tokens/{uid}', { params: { path: { uid: token.uid } } }));
                  await list.reload();
                }}
              >
                Revoke
              </Action>
            </td>
          </tr>
        ))}
      </Table>
      <More pages={list} />
    </>
  );
}

export function ServiceAccounts() {
  const list = usePages(async (cursor) => {
    const query = cursor === undefined ? {} : { cursor };
    const { service_accounts, page_info } = await content(api.GET('/service-accounts', { params: { query } }));
    return { items: service_accounts, page_info };
  }, team.value ?? '');
  const chosen = useSignal<Schemas['ServiceAccountItem'] | null>(null);
  const operation = useSubmit(async (data) => {
    await content(api.POST('/service-accounts', { body: { name: textOf(data, 'name') } }));
    await list.reload();
  });
  return (
    <>
      <form class="tools" onSubmit={operation.onSubmit}>
        <input
          name="name"
          required
          maxLength={200}
          aria-label="Name of the service account"
          placeholder="deploy pipeline"
        />
        <button>Create service account</button>
      </form>
      <Failure message={operation.failure || list.failure} />
      <Table label="Service accounts" columns={['Name', 'Created', '']}>
        {list.items?.map((account) => (
          <tr key={account.uid}>
            <td>
              <strong>{account.name}</strong> {account.is_agent_identity && <span class="muted">agent identity</span>}
            </td>
            <td>
              <Time at={account.created_at} />
            </td>
            <td>
              <div class="actions">
                <button
                  type="button"
                  aria-expanded={chosen.value?.uid === account.uid}
                  onClick={() => {
                    chosen.value = chosen.value?.uid === account.uid ? null : account;
                  }}
                >
                  Tokens
                </button>
                {!account.is_agent_identity && (
                  <Action
                    class="danger"
                    confirm={`Delete the service account ${account.name}, and revoke its tokens?`}
                    run={async () => {
                      await content(api.DELETE('/service-accounts/{uid}', { params: { path: { uid: account.uid } } }));
                      await list.reload();
                    }}
                  >
                    Delete
                  </Action>
                )}
              </div>
            </td>
          </tr>
        ))}
      </Table>
      <More pages={list} />
      {chosen.value && (
        <section>
          <h2 class="section">Tokens of {chosen.value.name}</h2>
          <Tokens key={chosen.value.uid} account={chosen.value} />
        </section>
      )}
    </>
  );
}

export function Sessions() {
  const list = useResource(() => content(api.GET('/sessions')), principal.value?.uid ?? '');
  return (
    <>
      <Failure message={list.failure} />
      <Table label="Sessions" columns={['Browser', 'Address', 'Signed in', 'Last use', '']}>
        {list.data?.sessions.map((session) => (
          <tr key={session.uid}>
            <td>
              {session.user_agent ?? 'Unknown'} {session.is_current && <strong>(this browser)</strong>}
            </td>
            <td>{session.address}</td>
            <td>
              <Time at={session.created_at} />
            </td>
            <td>{session.last_used_at === undefined ? '' : <Time at={session.last_used_at} />}</td>
            <td>
              {!session.is_current && (
                <Action
                  class="danger"
                  confirm="Sign this browser out?"
                  run={async () => {
                    await content(api.DELETE('/sessions/{uid}', { params: { path: { uid: session.uid } } }));
                    await list.reload();
                  }}
                >
                  Sign out
                </Action>
              )}
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}
