import { api, content, type Schemas } from '../../api/client';
import { Action, Failure, Link, Time, usePageTitle } from '../../components/basics';
import { RecentRuns } from '../../components/recent-runs';
import { nameOf } from '../../components/environment-names';
import { useResource } from '../../components/resource';
import { navigate, query, setQuery } from '../../router';
import { team } from '../../session';
import { EnvironmentForm } from './environment-form';
import { mayChange } from './environments-page';

export function EnvironmentPage({ id: uid }: { readonly id: string }) {
  const params = { path: { uid } };
  const found = useResource(() => content(api.GET('/environments/{uid}', { params })), uid);
  // The API has no filter of schedules: those that the configuration names are found in the list.
  const schedules = useResource(() => content(api.GET('/agent/schedules')), team.value ?? '');
  const environment = found.data;
  usePageTitle(environment === undefined ? 'Environment' : nameOf(environment));
  if (environment === undefined)
    return (
      <>
        <h1>Environment</h1>
        {found.failure === '' ? <p role="status">Loading …</p> : <Failure message={found.failure} />}
      </>
    );
  const name = nameOf(environment);
  const users = schedules.data?.schedules.filter(({ agent_config: config }) => config?.environment_id === uid) ?? [];
  return (
    <>
      <div class="head">
        <h1>{name}</h1>
        {mayChange(environment) && (
          <div class="actions">
            <button type="button" onClick={() => setQuery({ edit: '1' })}>
              Edit
            </button>
            <Action
              class="danger"
              confirm={`Delete the environment ${name}? Runs that have not started in it fail.`}
              run={async () => {
                await content(api.DELETE('/environments/{uid}', { params }));
                navigate('environments');
              }}
            >
              Delete
            </Action>
          </div>
        )}
      </div>
      <Failure message={found.failure} />
      <div class="facts">
        <span>{environment.scope?.type === 'User' ? 'Personal' : 'Of the team'}</span>
        {environment.creator !== undefined && <span>Created by {environment.creator.display_name}</span>}
        <span>
          Changed <Time at={environment.last_updated} />
        </span>
        <code>{uid}</code>
      </div>
      {environment.setup_failed && <p class="failure block">The last set-up of this environment failed.</p>}
      <Contents config={environment.config} />
      <h2 class="section">Schedules</h2>
      <Failure message={schedules.failure} />
      {schedules.data !== undefined && users.length === 0 && <p class="muted">No schedule uses it.</p>}
      <ul>
        {users.map((schedule) => (
          <li key={schedule.id}>
            <Link to={`schedules/${schedule.id}`}>{schedule.name}</Link>
          </li>
        ))}
      </ul>
      <h2 class="section">Runs</h2>
      <RecentRuns query={{ environment_id: uid }} to={`runs?environment=${uid}`} />
      {query.value.get('edit') !== null && (
        <EnvironmentForm environment={environment} onSaved={found.reload} onClose={() => setQuery({ edit: null })} />
      )}
    </>
  );
}

function Contents({ config }: { readonly config: Schemas['EnvironmentConfig'] }) {
  const repositories = [
    ...(config.github_repos ?? []).map(({ owner, repo }) => `${owner}/${repo}`),
    ...(config.git_repos ?? []).map(({ url, ref }) => (ref === undefined ? url : `${url} ${ref}`)),
  ];
  const rows: readonly (readonly [string, string])[] = [
    ['Description', config.description ?? ''],
    ['Repositories', repositories.join('\n')],
    ['Set-up commands', (config.setup_commands ?? []).join('\n')],
    ['Variables', Object.keys(config.env ?? {}).join('\n')],
    ['Secrets', (config.secrets ?? []).map(({ name }) => name).join('\n')],
    ['Image', config.docker_image ?? ''],
  ];
  return (
    <dl class="contents">
      {rows
        .filter(([, value]) => value !== '')
        .map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              <pre tabIndex={0}>{value}</pre>
            </dd>
          </div>
        ))}
    </dl>
  );
}
