import { useSignal } from '@preact/signals';
import { api, content, type Schemas } from '../../api/client';
import { DialogForm, Field, FieldGroup } from '../../components/form';
import { textOf } from '../../components/operation';
import { useResource } from '../../components/resource';
import { may, team } from '../../session';

type Config = Schemas['EnvironmentConfig'];

/** Works on every installation. */
const FIRST: Config = {
  name: 'first environment',
  setup_commands: ['git init --quiet', 'echo "prepared" > README.md'],
  env: { GREETING: 'hello' },
};

const lines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** `owner/name` is a repository on GitHub, everything else an address, with an optional branch after white space. */
function repositoriesOf(text: string, before: Config): Pick<Config, 'github_repos' | 'git_repos'> {
  const github: Schemas['GithubRepo'][] = [];
  const git: Schemas['GitRepo'][] = [];
  for (const line of lines(text)) {
    const [, owner, repo] = /^([A-Za-z0-9-]{1,39})\/([A-Za-z0-9._-]{1,100}|\*)$/.exec(line) ?? [];
    if (owner !== undefined && repo !== undefined) {
      const known = before.github_repos?.find((other) => other.owner === owner && other.repo === repo);
      github.push({ ...known, owner, repo });
      continue;
    }
    const [url = '', ref] = line.split(/\s+/);
    const { secret_name, username } = before.git_repos?.find((other) => other.url === url) ?? {};
    const credential = {
      ...(secret_name !== undefined && { secret_name }),
      ...(username !== undefined && { username }),
    };
    git.push({ ...credential, url, ...(ref !== undefined && { ref }) });
  }
  return { ...(github.length > 0 && { github_repos: github }), ...(git.length > 0 && { git_repos: git }) };
}

const repositoryLines = ({ github_repos: github = [], git_repos: git = [] }: Config): string =>
  [
    ...github.map(({ owner, repo }) => `${owner}/${repo}`),
    ...git.map(({ url, ref }) => (ref === undefined ? url : `${url} ${ref}`)),
  ].join('\n');

interface EnvironmentFormProps {
  /** Absent: a new one. */
  readonly environment?: Schemas['EnvironmentItem'];
  /** Whether the form proposes contents, for a first environment. */
  readonly isFirst?: boolean;
  readonly onSaved: (uid: string) => void | Promise<void>;
  readonly onClose: () => void;
}

export function EnvironmentForm({ environment, isFirst = false, onSaved, onClose }: EnvironmentFormProps) {
  const start: Config = environment?.config ?? (isFirst ? FIRST : {});
  const mayNameSecrets = may('secrets:manage');
  const isPersonal = useSignal(!may('environments:write'));
  const secrets = useResource(
    async () => (mayNameSecrets ? (await content(api.GET('/secrets'))).secrets : []),
    team.value ?? '',
  );
  const known = secrets.data?.filter(({ purpose }) => purpose === 'run').map(({ name }) => name) ?? [];
  const send = async (data: FormData): Promise<void> => {
    const value = (name: string): string => textOf(data, name).trim();
    const variables = data.getAll('variable').map(String);
    const values = data.getAll('value').map(String);
    const env = Object.fromEntries(
      variables.flatMap((name, index) => (name.trim() === '' ? [] : [[name.trim(), values[index] ?? '']])),
    );
    const secretNames = lines(textOf(data, 'secrets'));
    const {
      github_repos: _github,
      git_repos: _git,
      setup_commands: _commands,
      env: _env,
      secrets: _secrets,
      description: _description,
      docker_image: _image,
      failure_session_retention_minutes: _minutes,
      ...kept
    } = start;
    const commands = data
      .getAll('command')
      .map(String)
      .filter((command) => command.trim() !== '');
    const config: Config = {
      ...kept,
      name: value('name'),
      ...(value('description') !== '' && { description: value('description') }),
      ...(value('image') !== '' && { docker_image: value('image') }),
      ...repositoriesOf(textOf(data, 'repositories'), start),
      ...(commands.length > 0 && { setup_commands: commands }),
      ...(Object.keys(env).length > 0 && { env }),
      ...(secretNames.length > 0 && { secrets: secretNames.map((name) => ({ name })) }),
      setup_on_resume: data.has('resume'),
      ...(value('minutes') !== '' && { failure_session_retention_minutes: Number(value('minutes')) }),
    };
    if (environment === undefined) {
      const body = { config, ...(isPersonal.value && { team: false }) };
      await onSaved((await content(api.POST('/environments', { params: {}, body }))).uid);
      return;
    }
    const { uid } = environment;
    await content(api.PUT('/environments/{uid}', { params: { path: { uid } }, body: { config } }));
    await onSaved(uid);
  };
  return (
    <DialogForm
      title={environment === undefined ? 'New environment' : `Edit ${start.name ?? 'the environment'}`}
      submit={environment === undefined ? 'Create environment' : 'Save'}
      send={send}
      onClose={onClose}
    >
      <Field label="Name" pointer="/config/name">
        {(control) => <input {...control} name="name" required maxLength={200} defaultValue={start.name ?? ''} />}
      </Field>
      <Field label="Description" pointer="/config/description">
        {(control) => <input {...control} name="description" maxLength={2000} defaultValue={start.description ?? ''} />}
      </Field>
      <Field
        label="Repositories"
        pointer="/config/github_repos"
        hint="One in each line: owner/name on GitHub, or an address and, after a space, a branch."
      >
        {(control) => (
          <textarea
            {...control}
            class="code"
            name="repositories"
            rows={2}
            placeholder="acme/shop"
            defaultValue={repositoryLines(start)}
          />
        )}
      </Field>
      <Commands commands={start.setup_commands ?? ['']} />
      <Variables env={start.env ?? {}} />
      <Field
        label="Secrets"
        pointer="/config/secrets"
        hint={
          <>
            Names of managed secrets, one in each line, which become variables of the same name.
            {known.length > 0 && ` The team has: ${known.join(', ')}.`}
          </>
        }
      >
        {(control) => (
          <textarea
            {...control}
            class="code"
            name="secrets"
            rows={2}
            defaultValue={(start.secrets ?? []).map(({ name }) => name).join('\n')}
          />
        )}
      </Field>
      <Field label="Image" pointer="/config/docker_image" hint="Of the container, if runs are executed in containers.">
        {(control) => (
          <input
            {...control}
            class="code"
            name="image"
            maxLength={512}
            placeholder="node:22"
            defaultValue={start.docker_image ?? ''}
          />
        )}
      </Field>
      <Field
        label="Minutes for debugging"
        pointer="/config/failure_session_retention_minutes"
        hint="For which the workspace is open after a failed set-up. Empty: not at all."
      >
        {(control) => (
          <input
            {...control}
            name="minutes"
            type="number"
            min={1}
            max={60}
            defaultValue={start.failure_session_retention_minutes ?? ''}
          />
        )}
      </Field>
      <label>
        <input type="checkbox" name="resume" defaultChecked={start.setup_on_resume ?? false} /> Execute the set-up
        commands also when a workspace is restored
      </label>
      {environment === undefined && may('environments:write') && (
        <label>
          <input
            type="checkbox"
            checked={isPersonal.value}
            onChange={({ currentTarget }) => {
              isPersonal.value = currentTarget.checked;
            }}
          />{' '}
          Only for me
        </label>
      )}
    </DialogForm>
  );
}

/** Rows that a user adds and removes. The identifiers keep what is typed in the others. */
function useRows<Row extends object>(initial: readonly Row[]) {
  const rows = useSignal<readonly (Row & { readonly id: number })[]>(initial.map((row, id) => ({ ...row, id })));
  return {
    all: rows.value,
    add: (row: Row): void => {
      rows.value = [...rows.value, { ...row, id: Math.max(-1, ...rows.value.map(({ id }) => id)) + 1 }];
    },
    remove: (id: number): void => {
      rows.value = rows.value.filter((row) => row.id !== id);
    },
  };
}

/** Each has a separate field, because a command may have several lines. */
function Commands({ commands }: { readonly commands: readonly string[] }) {
  const rows = useRows(commands.map((command) => ({ command })));
  return (
    <FieldGroup
      label="Set-up commands"
      pointer="/config/setup_commands"
      hint="Executed in this order; the first that fails fails the run."
    >
      <div class="form">
        {rows.all.map(({ id, command }, index) => (
          <div class="variable command" key={id}>
            <textarea
              class="code"
              name="command"
              rows={Math.min(8, command.split('\n').length)}
              aria-label={`Command ${index + 1}`}
              placeholder="npm ci"
              defaultValue={command}
            />
            <button type="button" aria-label={`Remove command ${index + 1}`} onClick={() => rows.remove(id)}>
              ×
            </button>
          </div>
        ))}
        <button type="button" onClick={() => rows.add({ command: '' })}>
          Add command
        </button>
      </div>
    </FieldGroup>
  );
}

/** Values that are stored are shown as `***`, which keeps them. */
function Variables({ env }: { readonly env: Readonly<Record<string, string>> }) {
  const rows = useRows(Object.entries(env).map(([name, value]) => ({ name, value })));
  return (
    <FieldGroup label="Variables" pointer="/config/env" hint="Stored values are shown as ***, which keeps them.">
      <div class="form">
        {rows.all.map(({ id, name, value }) => (
          <div class="variable" key={id}>
            <input class="code" name="variable" aria-label="Name of the variable" defaultValue={name} />
            <input class="code" name="value" aria-label={`Value of ${name || 'the variable'}`} defaultValue={value} />
            <button type="button" aria-label={`Remove ${name || 'the variable'}`} onClick={() => rows.remove(id)}>
              ×
            </button>
          </div>
        ))}
        <button type="button" onClick={() => rows.add({ name: '', value: '' })}>
          Add variable
        </button>
      </div>
    </FieldGroup>
  );
}
