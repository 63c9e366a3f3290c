import { api, content, type Schemas } from '../../api/client';
import { Action, Empty, Failure, Time, usePageTitle } from '../../components/basics';
import { DialogForm, Field } from '../../components/form';
import { textOf } from '../../components/operation';
import { useResource } from '../../components/resource';
import { Table } from '../../components/table';
import { query, setQuery } from '../../router';
import { may, team } from '../../session';

type Purpose = Schemas['SecretItem']['purpose'];

export function SecretsPage() {
  usePageTitle('Secrets');
  return (
    <>
      <div class="head">
        <h1>Secrets</h1>
        {may('secrets:manage') && (
          <button type="button" class="primary" onClick={() => setQuery({ new: '1' })}>
            New secret
          </button>
        )}
      </div>
      {may('secrets:manage') ? (
        <Secrets />
      ) : (
        <Empty title="Admins and owners of the team manage its secrets">
          <p>Runs receive the secrets that their environment names.</p>
        </Empty>
      )}
    </>
  );
}

function Secrets() {
  const list = useResource(() => content(api.GET('/secrets')), team.value ?? '');
  const secrets = list.data?.secrets;
  const replaced = secrets?.find(({ name }) => name === query.value.get('edit'));
  const isNew = query.value.get('new') !== null;
  return (
    <>
      <Failure message={list.failure} />
      {secrets === undefined && list.failure === '' && <p role="status">Loading …</p>}
      {secrets?.length === 0 && (
        <Empty title="No secrets yet">
          <p>
            A secret is a value, such as a key of a service, that runs get as a variable or that authenticates a
            webhook. It is stored encrypted, and no page and no operation of the API shows it again.
          </p>
          <button type="button" class="primary" onClick={() => setQuery({ new: '1' })}>
            Create the first secret
          </button>
        </Empty>
      )}
      {secrets !== undefined && secrets.length > 0 && (
        <Table label="Secrets" columns={['Name', 'For', 'Created', 'Value of', '']}>
          {secrets.map(({ name, purpose, created_at: createdAt, updated_at: updatedAt }) => (
            <tr key={name}>
              <td>
                <strong>{name}</strong>
              </td>
              <td>{purpose === 'run' ? 'runs' : 'webhooks'}</td>
              <td>
                <Time at={createdAt} />
              </td>
              <td>
                <Time at={updatedAt} />
              </td>
              <td>
                <div class="actions">
                  <button type="button" onClick={() => setQuery({ edit: name })}>
                    Replace value
                  </button>
                  <Action
                    class="danger"
                    confirm={`Delete the secret ${name}? Runs and webhooks that need it fail.`}
                    run={async () => {
                      await content(api.DELETE('/secrets/{name}', { params: { path: { name } } }));
                      await list.reload();
                    }}
                  >
                    Delete
                  </Action>
                </div>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {(isNew || replaced !== undefined) && (
        <SecretForm
          key={replaced?.name ?? ''}
          {...(replaced !== undefined && { secret: replaced })}
          onSaved={list.reload}
          onClose={() => setQuery({ new: null, edit: null })}
        />
      )}
    </>
  );
}

interface SecretFormProps {
  readonly secret?: Schemas['SecretItem'];
  readonly onSaved: () => Promise<void>;
  readonly onClose: () => void;
}

function SecretForm({ secret, onSaved, onClose }: SecretFormProps) {
  const send = async (data: FormData): Promise<void> => {
    const name = secret?.name ?? textOf(data, 'name').trim();
    const body = { value: textOf(data, 'value'), ...(!secret && { purpose: textOf(data, 'purpose') as Purpose }) };
    await content(api.PUT('/secrets/{name}', { params: { path: { name } }, body }));
    await onSaved();
  };
  return (
    <DialogForm
      title={secret === undefined ? 'New secret' : `Replace the value of ${secret.name}`}
      submit={secret === undefined ? 'Create secret' : 'Replace value'}
      send={send}
      onClose={onClose}
    >
      {secret === undefined && (
        <div class="pair">
          <Field label="Name" pointer="/name" hint="Of the variable, such as NPM_TOKEN.">
            {(control) => <input {...control} class="code" name="name" required maxLength={128} autocomplete="off" />}
          </Field>
          <Field label="For" pointer="/purpose">
            {(control) => (
              <select {...control} name="purpose">
                <option value="run">runs</option>
                <option value="webhook">webhooks only</option>
              </select>
            )}
          </Field>
        </div>
      )}
      <Field label="Value" pointer="/value" hint="It is not shown again.">
        {(control) => (
          <textarea {...control} class="code" name="value" rows={3} required autocomplete="off" spellcheck={false} />
        )}
      </Field>
    </DialogForm>
  );
}
