import { describeExecutor } from '../support/executor-conformance.js';
import { PLACES } from '../support/executor-places.js';

for (const name of ['process', 'docker', 'kubernetes'] as const)
  for (const host of ['processor', 'worker'] as const) describeExecutor(name, PLACES[name], host);
