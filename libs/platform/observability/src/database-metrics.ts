import { within } from '#platform/kernel';
import type { Database } from '#platform/persistence';
import type { Metrics, Sample } from './metrics.js';

/** Shorter than the time in which gauges are read, so that a database that does not answer is reported. */
const CHECK_TIMEOUT_MS = 2_000;

const GAUGES = {
  headrace_database_available: { help: '1 if the database accepts writes of this process, otherwise 0.' },
  headrace_database_connections: {
    help: 'Connections of this process for requests, by state; waiting: requests that wait for one.',
    labelNames: ['state'],
  },
} as const;
type GaugeName = keyof typeof GAUGES;

export function observeDatabase(metrics: Metrics, database: Database): void {
  metrics.observedTogether<GaugeName>(GAUGES, async () => {
    const { totalCount: open, idleCount: idle, waitingCount: waiting } = database.pool;
    const connections = (state: string, value: number): Sample<GaugeName> => ({
      gauge: 'headrace_database_connections',
      labels: { state },
      value,
    });
    const isAvailable = await within(
      CHECK_TIMEOUT_MS,
      database.assertWritable().then(
        () => true,
        () => false,
      ),
      () => false,
    );
    return [
      { gauge: 'headrace_database_available', value: isAvailable ? 1 : 0 },
      connections('busy', open - idle),
      connections('idle', idle),
      connections('waiting', waiting),
    ];
  });
}
