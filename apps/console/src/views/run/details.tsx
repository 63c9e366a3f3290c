import { api, content, type Schemas } from '../../api/client';
import { Empty, Failure, Link, StateBadge, Time } from '../../components/basics';
import { useResource } from '../../components/resource';

/** Runs that were made from this one, and everything that the API says about it. */
export function Details({ run }: { readonly run: Schemas['RunItem'] }) {
  const id = run.run_id;
  const { data, failure } = useResource(async () => {
    const [children, reruns] = await Promise.all([
      content(api.GET('/agent/runs', { params: { query: { ancestor_run_id: id, limit: 100 } } })),
      content(api.GET('/agent/runs', { params: { query: { rerun_of: id, limit: 100 } } })),
    ]);
    return [
      ...children.runs.map((other) => [other.forked_from?.run_id === id ? 'Fork' : 'Child run', other] as const),
      ...reruns.runs.map((other) => ['Rerun', other] as const),
    ];
  }, id);
  return (
    <>
      <h2 class="section">Related runs</h2>
      <Failure message={failure} />
      {data?.length === 0 && <Empty title="No forks, child runs or reruns" />}
      {data !== undefined && data.length > 0 && (
        <ul class="card rows related">
          {data.map(([kind, other]) => (
            <li key={`${kind} ${other.run_id}`}>
              <StateBadge state={other.state} /> <span class="muted">{kind}</span>{' '}
              <Link to={`runs/${other.run_id}`}>
                <bdi>{other.title}</bdi>
              </Link>{' '}
              <Time at={other.created_at} />
            </li>
          ))}
        </ul>
      )}
      <h2 class="section">Resource</h2>
      <pre tabIndex={0}>{JSON.stringify(run, null, 2)}</pre>
    </>
  );
}
