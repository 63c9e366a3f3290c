import type { Browser } from 'playwright-core';
import { startBrowser as start } from '../../scripts/lib/browser.mjs';

export { NO_BROWSER } from '../../scripts/lib/browser.mjs';

/** Without animations, which need a tenth of the processor time of the tests of the console. */
export const startBrowser = (): Promise<Browser> => start(['--force-prefers-reduced-motion']);
