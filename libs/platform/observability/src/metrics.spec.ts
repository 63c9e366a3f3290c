import { expect, it } from 'vitest';
import { Metrics } from './metrics.js';

it('reads gauges together once for each request, and leaves them out while they cannot be read', async () => {
  const metrics = new Metrics();
  let reads = 0;
  let isBroken = false;
  metrics.observedTogether(
    { test_runs: { help: 'Runs.', labelNames: ['pool'] }, test_oldest_seconds: { help: 'The oldest one.' } },
    () => {
      reads += 1;
      if (isBroken) return Promise.reject(new Error('no database'));
      return Promise.resolve([
        { gauge: 'test_runs', labels: { pool: reads === 1 ? 'first' : 'second' }, value: reads },
        { gauge: 'test_oldest_seconds', value: 7 },
      ]);
    },
  );
  const values = async () => (await metrics.render()).split('\n').filter((line) => line.startsWith('test_'));
  expect(await values()).toEqual(['test_runs{pool="first"} 1', 'test_oldest_seconds 7']);
  expect(await values()).toEqual(['test_runs{pool="second"} 2', 'test_oldest_seconds 7']);
  isBroken = true;
  expect(await values()).toEqual([]);
  expect(reads).toBe(3);
});
