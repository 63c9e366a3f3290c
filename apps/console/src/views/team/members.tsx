import { useSignal } from '@preact/signals';
import { api, content, messageOf, type Schemas } from '../../api/client';
import { Action, Failure, Time } from '../../components/basics';
import { More, usePages } from '../../components/pages';
import { Table } from '../../components/table';
import { loadPrincipal, may, principal, team } from '../../session';
import { Invitations } from './invitations';
import { mayManageOwners, offeredRoles } from './roles';

export function Members() {
  const list = usePages(async (cursor) => {
    const query = cursor === undefined ? {} : { cursor };
    const { members, page_info } = await content(api.GET('/members', { params: { query } }));
    return { items: members, page_info };
  }, team.value ?? '');
  const setRole = async (userUid: string, role: Schemas['TeamRole']): Promise<void> => {
    await content(api.PUT('/members/{userUid}', { params: { path: { userUid } }, body: { role } }));
    await list.reload();
  };
  const remove = (userUid: string) => content(api.DELETE('/members/{userUid}', { params: { path: { userUid } } }));
  const mayManage = (role: Schemas['TeamRole']): boolean =>
    may('members:manage') && (role !== 'owner' || mayManageOwners());
  return (
    <>
      <Failure message={list.failure} />
      <Table label="Members" columns={['Name', 'E-mail address', 'Role', 'Since', '']}>
        {list.items?.map(({ uid, display_name: name, email, role, member_since: since, ...member }) => (
          <tr key={uid}>
            <td>
              <strong>{name}</strong> {member.disabled_at !== undefined && <span class="failure">disabled</span>}
            </td>
            <td>
              {email} {!member.is_email_verified && <span class="muted">not verified</span>}
            </td>
            <td>
              {mayManage(role) ? <RoleSelect name={name} role={role} set={(next) => setRole(uid, next)} /> : role}
            </td>
            <td>
              <Time at={since} />
            </td>
            <td>
              {uid === principal.value?.uid ? (
                <Action
                  class="danger"
                  confirm="Leave the team? Its members can invite you again."
                  run={async () => {
                    await remove(uid);
                    await loadPrincipal();
                  }}
                >
                  Leave
                </Action>
              ) : (
                mayManage(role) && (
                  <Action
                    class="danger"
                    confirm={`Remove ${name} from the team?`}
                    run={async () => {
                      await remove(uid);
                      await list.reload();
                    }}
                  >
                    Remove
                  </Action>
                )
              )}
            </td>
          </tr>
        ))}
      </Table>
      <More pages={list} />
      {may('members:manage') && <Invitations />}
    </>
  );
}

interface RoleSelectProps {
  readonly name: string;
  readonly role: Schemas['TeamRole'];
  readonly set: (role: Schemas['TeamRole']) => Promise<void>;
}

/** The selection returns to the role that the member has when the change is rejected. */
function RoleSelect({ name, role, set }: RoleSelectProps) {
  const failure = useSignal('');
  return (
    <>
      <select
        aria-label={`Role of ${name}`}
        value={role}
        onChange={({ currentTarget }) => {
          failure.value = '';
          set(currentTarget.value as Schemas['TeamRole']).catch((error: unknown) => {
            currentTarget.value = role;
            failure.value = messageOf(error);
          });
        }}
      >
        {offeredRoles().map((known) => (
          <option value={known} key={known}>
            {known}
          </option>
        ))}
      </select>
      {failure.value !== '' && (
        <div class="failure" role="alert">
          {failure.value}
        </div>
      )}
    </>
  );
}
