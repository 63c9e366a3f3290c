// Starts Headrace on a machine that has Node and nothing else: `node scripts/start.mjs [up|api|ingress|processor]`.
import { requireNode } from './lib/node-version.mjs';

requireNode();
const { launch } = await import('./lib/launch.mjs');
process.exit(await launch(process.argv[2] ?? 'up'));
