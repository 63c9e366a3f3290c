import { ORIGIN } from '../../base';
import { Failure, usePageTitle, Badge } from '../../components/basics';
import { useResource } from '../../components/resource';
import { Table } from '../../components/table';

const REFRESH_MS = 10_000;

interface Health {
  readonly version: string;
  readonly plugins: readonly {
    readonly name: string;
    readonly version: string;
    readonly processes: readonly string[];
  }[];
}

/** 503 has a body too. */
interface Readiness {
  readonly ready: boolean;
  readonly draining: boolean;
  readonly checks: Readonly<Record<string, 'ok' | 'failed'>>;
}

async function read<T>(path: string): Promise<T> {
  const response = await fetch(`${ORIGIN}/${path}`).catch(() => null);
  // A proxy sends its error page when the server does not respond.
  const isReport = response?.headers.get('content-type')?.includes('json') === true;
  if (response === null || !isReport) throw new Error('The server cannot be reached.');
  return (await response.json()) as T;
}

/** What the probes of the API process say, which need no permission. */
export function StatusPage() {
  usePageTitle('Status');
  const health = useResource(() => read<Health>('health'), '');
  const readiness = useResource(() => read<Readiness>('health/ready'), '', REFRESH_MS);
  const { data: report } = readiness;
  return (
    <>
      <div class="head">
        <h1>Status</h1>
      </div>
      <Failure message={health.failure || readiness.failure} />
      {report !== undefined && (
        <p role="status" class={report.ready ? 'badge good' : 'failure block'}>
          {report.ready && <span class="dot" aria-hidden="true" />}
          {report.ready
            ? 'The API accepts requests.'
            : report.draining
              ? 'The API shuts down and accepts no new requests.'
              : 'The API does not accept requests: a check has failed.'}
        </p>
      )}
      {report !== undefined && (
        <>
          <h2 class="section">Checks</h2>
          <Table label="Checks" columns={['Check', 'Result']}>
            {Object.entries(report.checks).map(([name, result]) => (
              <tr key={name}>
                <td>{name.replaceAll('_', ' ')}</td>
                <td>
                  <Badge look={result === 'ok' ? 'good' : 'bad'}>{result}</Badge>
                </td>
              </tr>
            ))}
          </Table>
        </>
      )}
      {health.data !== undefined && (
        <>
          <h2 class="section">Versions</h2>
          <Table label="Versions" columns={['Part', 'Version', 'Loaded by']}>
            <tr>
              <td>
                <strong>Headrace</strong>
              </td>
              <td>{health.data.version}</td>
              <td>all processes</td>
            </tr>
            {health.data.plugins.map(({ name, version, processes }) => (
              <tr key={name}>
                <td>Plugin {name}</td>
                <td>{version}</td>
                <td>{processes.join(', ')}</td>
              </tr>
            ))}
          </Table>
          {health.data.plugins.length === 0 && <p class="muted section">No plugins are installed.</p>}
        </>
      )}
    </>
  );
}
