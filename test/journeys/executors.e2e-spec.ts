import { describeExecutor } from '../support/executor-conformance.js';
import type { HostName } from '../support/executor-hosts.js';
import { PLACES } from '../support/executor-places.js';

const isLong = process.env.HEADRACE_TEST_LONG === '1';

/** Each host occurs; `npm run test:long` combines all backends and hosts. Kubernetes: see kubernetes-executor.e2e-spec.ts. */
const SHORT: readonly (readonly [keyof typeof PLACES, HostName])[] = [
  ['process', 'processor'],
  ['docker', 'worker'],
];

for (const name of ['process', 'docker', 'kubernetes'] as const)
  for (const host of ['processor', 'worker'] as const)
    if (isLong || SHORT.some(([place, of]) => place === name && of === host))
      describeExecutor(name, PLACES[name], host);
