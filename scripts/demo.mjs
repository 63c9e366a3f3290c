// Two acts: a run is created, worked on and read back; then deliveries start runs in the factories of examples/.
import { requireNode } from './lib/node-version.mjs';

requireNode();
const { Api, DemoFailed } = await import('./lib/api.mjs');
const { walkThroughFactories } = await import('./lib/demo-factories.mjs');
const { withInstance } = await import('./lib/demo-instance.mjs');
const { walkThroughRuns } = await import('./lib/demo-runs.mjs');
const { StepFailed } = await import('./lib/run-step.mjs');

try {
  await withInstance(async (connection) => {
    const api = new Api(connection);
    await walkThroughRuns(api);
    await walkThroughFactories(api, connection.team_uid);
    console.log('\nThe demo went through.');
  });
} catch (error) {
  const isExpected = error instanceof DemoFailed || error instanceof StepFailed;
  console.error(`\nThe demo failed: ${isExpected ? error.message : error.stack}`);
  process.exit(1);
}
process.exit(0);
