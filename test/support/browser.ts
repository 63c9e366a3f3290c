import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Debian's chromium, or the one that CHROMIUM_PATH names. */
const PATHS = [process.env.CHROMIUM_PATH ?? '', '/usr/bin/chromium', '/usr/bin/google-chrome'];
const executablePath = PATHS.find((path) => path !== '' && existsSync(path));

/** Why tests with a browser are skipped on this machine; null when there is one. */
export const NO_BROWSER: string | null =
  executablePath === undefined ? 'no Chromium: install the package chromium, or set CHROMIUM_PATH' : null;

/** A headless browser that contacts nobody but the pages under test. */
export function startBrowser(): Promise<Browser> {
  if (executablePath === undefined) throw new Error(NO_BROWSER ?? '');
  return chromium.launch({
    executablePath,
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
      ...['--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
    ],
  });
}
