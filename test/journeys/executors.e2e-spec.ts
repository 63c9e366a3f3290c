import { describeExecutor } from '../support/executor-conformance.js';
import { PLACES } from '../support/executor-places.js';
import { isLong } from '../support/long-tests.js';

/**
 * `npm run test:long` combines all backends and hosts. Most other tests execute runs in processes of the processor, and Kubernetes
 * has kubernetes-executor.e2e-spec.ts.
 */
for (const name of ['process', 'docker', 'kubernetes'] as const)
  for (const host of ['processor', 'worker'] as const)
    if (isLong || (name === 'docker' && host === 'worker')) describeExecutor(name, PLACES[name], host);
