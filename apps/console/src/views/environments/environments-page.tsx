import { api, content, type Schemas } from '../../api/client';
import { Empty, Failure, Link, StateBadge, Time, usePageTitle } from '../../components/basics';
import { nameOf, ownerOf } from '../../components/environment-names';
import { useResource } from '../../components/resource';
import { Table } from '../../components/table';
import { query, setQuery } from '../../router';
import { may, principal, team } from '../../session';
import { EnvironmentForm } from './environment-form';

type Environment = Schemas['EnvironmentItem'];

/** Those of others are read only. */
export const mayChange = ({ scope }: Environment): boolean =>
  scope?.type === 'User' ? scope.uid === principal.value?.uid : may('environments:write');

export function EnvironmentsPage() {
  usePageTitle('Environments');
  const list = useResource(
    () => content(api.GET('/agent/environments', { params: { query: { sort_by: 'name' } } })),
    team.value ?? '',
  );
  const environments = list.data?.environments;
  const isNew = query.value.get('new') !== null;
  return (
    <>
      <div class="head">
        <h1>Environments</h1>
        <button type="button" class="primary" onClick={() => setQuery({ new: '1' })}>
          New environment
        </button>
      </div>
      <Failure message={list.failure} />
      {environments === undefined && list.failure === '' && <p role="status">Loading …</p>}
      {environments?.length === 0 && (
        <Empty title="No environments yet">
          <p>
            An environment prepares the workspace of a run: repositories, set-up commands, variables, secrets and an
            image. The form proposes a first one, which needs no repository.
          </p>
          <button type="button" class="primary" onClick={() => setQuery({ new: '1' })}>
            Create the first environment
          </button>
        </Empty>
      )}
      {environments !== undefined && environments.length > 0 && (
        <Table label="Environments" columns={['Name', 'Owner', 'Repositories', 'Last run', 'Changed']}>
          {environments.map((environment) => (
            <Row key={environment.uid} environment={environment} />
          ))}
        </Table>
      )}
      {isNew && environments !== undefined && (
        <EnvironmentForm
          isFirst={environments.length === 0}
          onSaved={list.reload}
          onClose={() => setQuery({ new: null })}
        />
      )}
    </>
  );
}

function Row({ environment }: { readonly environment: Environment }) {
  const { uid, config, last_task_created: last, last_updated: updatedAt, setup_failed: hasFailed } = environment;
  return (
    <tr>
      <td>
        <strong>
          <Link to={`environments/${uid}`}>{nameOf(environment)}</Link>
        </strong>
        {config.description && <div class="muted">{config.description}</div>}
        {hasFailed && <div class="failure">The last set-up has failed.</div>}
      </td>
      <td>{ownerOf(environment)}</td>
      <td>
        {[
          ...(config.github_repos ?? []).map(({ owner, repo }) => `${owner}/${repo}`),
          ...(config.git_repos ?? []).map(({ url }) => url),
        ].map((repository) => (
          <div key={repository}>{repository}</div>
        ))}
      </td>
      <td>
        {last === undefined ? (
          <span class="muted">Never</span>
        ) : (
          <>
            <StateBadge state={last.state} /> <Link to={`runs/${last.id}`}>{last.title}</Link>
          </>
        )}
      </td>
      <td>
        <Time at={updatedAt} />
      </td>
    </tr>
  );
}
