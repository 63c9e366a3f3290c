// Bundles what `tsc` has compiled; the second half of `npm run build`.
import { bundle } from './lib/bundle.mjs';

await bundle();
