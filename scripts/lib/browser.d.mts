import type { Browser } from 'playwright-core';

/** Why there is no browser on this machine; null if there is one. */
export const NO_BROWSER: string | null;
/** A headless browser that contacts no other host than that of its pages. */
export function startBrowser(args?: readonly string[]): Promise<Browser>;
