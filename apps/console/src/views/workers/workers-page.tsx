import { api, content } from '../../api/client';
import { Empty, Failure, Time, usePageTitle } from '../../components/basics';
import { useResource } from '../../components/resource';
import { Table } from '../../components/table';
import { team } from '../../session';

const REFRESH_MS = 10_000;

export function WorkersPage() {
  usePageTitle('Workers');
  const connected = useResource(
    () => content(api.GET('/agent/connected-self-hosted-workers')),
    team.value ?? '',
    REFRESH_MS,
  );
  const harnesses = useResource(() => content(api.GET('/agent/harnesses')), team.value ?? '', REFRESH_MS);
  const workers = connected.data?.workers;
  return (
    <>
      <div class="head">
        <h1>Workers</h1>
      </div>
      <Failure message={connected.failure} />
      {workers === undefined && connected.failure === '' && <p role="status">Loading …</p>}
      {workers?.length === 0 && (
        <Empty title="No self-hosted worker is connected">
          <p>
            Runs are executed on hosted workers. <code>headrace worker</code> connects a machine of yours.
          </p>
        </Empty>
      )}
      {workers !== undefined && workers.length > 0 && (
        <Table label="Connected workers" columns={['Host', 'Connections', 'Connected', 'Last seen']}>
          {workers.map(({ worker_host: host, connection_count: count, connected_at: since, last_seen_at: seen }) => (
            <tr key={host}>
              <td>
                <strong>{host}</strong>
              </td>
              <td>{count}</td>
              <td>
                <Time at={since} />
              </td>
              <td>
                <Time at={seen} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <h2 class="section">Agents</h2>
      <Failure message={harnesses.failure} />
      {harnesses.data && (
        <Table label="Agents" columns={['Agent', 'Installed on', 'How to install it']}>
          {harnesses.data.harnesses.map(({ id, builtin, installations, install_hint: hint }) => (
            <tr key={id}>
              <td>
                <strong>{id}</strong>
              </td>
              <td>
                {builtin
                  ? 'all workers'
                  : installations
                      .filter(({ installed }) => installed)
                      .map(({ location, version }) => [location, version].filter(Boolean).join(' '))
                      .join(', ') || <span class="muted">no worker</span>}
              </td>
              <td>{hint === undefined ? '' : <code>{hint}</code>}</td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}
