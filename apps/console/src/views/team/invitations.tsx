import { useSignal } from '@preact/signals';
import { api, content, type Schemas } from '../../api/client';
import { Action, Failure, Time } from '../../components/basics';
import { SecretOnce } from '../../components/copy';
import { textOf, useSubmit } from '../../components/operation';
import { useResource } from '../../components/resource';
import { Table } from '../../components/table';
import { team } from '../../session';
import { offeredRoles, ROLE_PERMITS } from './roles';

/** Links with which people become members. Nothing is sent to them. */
export function Invitations() {
  const list = useResource(
    () => content(api.GET('/invitations', { params: { query: { limit: 500 } } })),
    team.value ?? '',
  );
  const link = useSignal('');
  const operation = useSubmit(async (data) => {
    link.value = '';
    const body = { email: textOf(data, 'email'), role: textOf(data, 'role') as Schemas['TeamRole'] };
    link.value = (await content(api.POST('/invitations', { body }))).url;
    await list.reload();
  });
  const invitations = list.data?.invitations ?? [];
  return (
    <section class="section" aria-labelledby="invitations">
      <h2 id="invitations">Invite a person</h2>
      <p class="muted">
        Headrace sends nothing. Send the link to the person: the person who opens it within seven days becomes a member
        of the team.
      </p>
      <form class="tools" onSubmit={operation.onSubmit}>
        <input name="email" type="email" required aria-label="E-mail address" placeholder="E-mail address" />
        <select name="role" aria-label="Role">
          {/* The least powerful first, which is the default. */}
          {offeredRoles()
            .toReversed()
            .map((role) => (
              <option value={role} key={role}>
                {role}
              </option>
            ))}
        </select>
        <button disabled={operation.isBusy}>Create invitation</button>
      </form>
      <p class="muted">
        {offeredRoles()
          .toReversed()
          .map((role) => `${role}: may ${ROLE_PERMITS[role]}.`)
          .join(' ')}
      </p>
      <Failure message={operation.failure || list.failure} />
      {link.value !== '' && <SecretOnce value={link.value} noun="link" />}
      {invitations.length > 0 && <h3>Open invitations</h3>}
      {invitations.length > 0 && (
        <Table label="Open invitations" columns={['E-mail address', 'Role', 'Invited by', 'Expires', '']}>
          {invitations.map(({ uid, email, role, invited_by: invitedBy, expires_at: expires }) => (
            <tr key={uid}>
              <td>
                <strong>{email}</strong>
              </td>
              <td>{role}</td>
              <td>{invitedBy}</td>
              <td>
                <Time at={expires} />
              </td>
              <td>
                <Action
                  class="danger"
                  confirm={`Revoke the invitation of ${email}? Its link is not valid any more.`}
                  run={async () => {
                    await content(api.DELETE('/invitations/{uid}', { params: { path: { uid } } }));
                    await list.reload();
                  }}
                >
                  Revoke
                </Action>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}
