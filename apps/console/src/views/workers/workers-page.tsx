import { api, content } from '../../api/client';
import { Empty, Failure, Link, StateBadge, Time, usePageTitle } from '../../components/basics';
import { useResource } from '../../components/resource';
import { Table } from '../../components/table';
import { team } from '../../session';
import { HarnessTable } from '../agents/agents-page';

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
        <h1>Workers and queue</h1>
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
      <h2 class="section">Queue</h2>
      <Queue />
      <h2 class="section">Agents</h2>
      <Failure message={harnesses.failure} />
      {harnesses.data && <HarnessTable harnesses={harnesses.data.harnesses} />}
    </>
  );
}

const WAITING = ['QUEUED', 'PENDING'] as const;
const WORKING = ['CLAIMED', 'INPROGRESS', 'BLOCKED'] as const;
/** The largest page of the API. */
const MAX_COUNTED = 500;

/** Runs of the team that have not ended, by where they are executed, the oldest first. */
function Queue() {
  const list = useResource(
    () => {
      const query = {
        state: [...WAITING, ...WORKING],
        limit: MAX_COUNTED,
        sort_by: 'created_at',
        sort_order: 'asc',
      } as const;
      return content(api.GET('/agent/runs', { params: { query: { ...query, state: [...query.state] } } }));
    },
    team.value ?? '',
    REFRESH_MS,
  );
  const runs = list.data?.runs ?? [];
  const hostOf = ({ agent_config: config }: (typeof runs)[number]): string =>
    config?.worker_host === undefined || config.worker_host === 'warp' ? 'hosted' : config.worker_host;
  const hosts = [...new Set(runs.map(hostOf))].sort();
  return (
    <>
      <Failure message={list.failure} />
      {list.data !== undefined && runs.length === 0 && <p class="muted">No run waits or is executed.</p>}
      {list.data?.page_info.has_next_page === true && <p>The oldest {runs.length} runs:</p>}
      {runs.length > 0 && (
        <Table label="Queue" columns={['Where', 'Waiting', 'Executed now', 'Oldest that waits']}>
          {hosts.map((host) => {
            const here = runs.filter((run) => hostOf(run) === host);
            const waiting = here.filter(({ state }) => WAITING.some((known) => known === state));
            const [oldest] = waiting;
            return (
              <tr key={host}>
                <td>
                  <strong>{host}</strong>
                </td>
                <td>{waiting.length}</td>
                <td>{here.length - waiting.length}</td>
                <td>
                  {oldest === undefined ? (
                    ''
                  ) : (
                    <>
                      <StateBadge state={oldest.state} /> <Link to={`runs/${oldest.run_id}`}>{oldest.title}</Link>{' '}
                      <Time at={oldest.created_at} />
                    </>
                  )}
                </td>
              </tr>
            );
          })}
        </Table>
      )}
    </>
  );
}
