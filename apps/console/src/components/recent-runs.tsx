import { api, content } from '../api/client';
import { Empty, Failure, Link, StateBadge, Time } from './basics';
import { useResource } from './resource';
import { Table } from './table';

const COUNT = 20;
const REFRESH_MS = 5000;

interface RecentRunsProps {
  readonly query: { readonly schedule_id: string } | { readonly environment_id: string };
  /** The list of runs with the same filter. */
  readonly to: string;
}

/** The last runs of a resource. */
export function RecentRuns({ query, to }: RecentRunsProps) {
  const list = useResource(
    () => content(api.GET('/agent/runs', { params: { query: { ...query, limit: COUNT, sort_by: 'created_at' } } })),
    to,
    REFRESH_MS,
  );
  const runs = list.data?.runs;
  return (
    <>
      <Failure message={list.failure} />
      {runs?.length === 0 && <Empty title="No runs yet" />}
      {runs !== undefined && runs.length > 0 && (
        <Table label="Runs" columns={['State', 'Run', 'Created', 'Reason']}>
          {runs.map(({ run_id: id, title, state, created_at: at, status_message: status }) => (
            <tr key={id}>
              <td>
                <StateBadge state={state} />
              </td>
              <td>
                <Link to={`runs/${id}`}>{title}</Link>
              </td>
              <td>
                <Time at={at} />
              </td>
              <td>{status?.message}</td>
            </tr>
          ))}
        </Table>
      )}
      {list.data?.page_info.has_next_page === true && <Link to={to}>Show all runs</Link>}
    </>
  );
}
