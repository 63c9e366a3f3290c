// Bundles what `tsc` has compiled; the second half of `npm run build`.
import { bundleProgram } from './lib/bundle.mjs';

await bundleProgram();
