// Bundles what `tsc` has compiled; the second half of `npm run build`.
import { execFileSync } from 'node:child_process';
import { bundleProgram } from './lib/bundle.mjs';
import { mainProgram } from './lib/paths.mjs';

await bundleProgram();
// It stores its compiled code, which it may not do when it runs as the user of an agent.
execFileSync(process.execPath, [mainProgram, 'builtin-agent'], { stdio: ['ignore', 'ignore', 'inherit'] });
