// The browser of tests, benches and screenshots.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

/** What CHROMIUM_PATH names, or a package of Debian. The one without a user interface needs a quarter less processor time. */
const PATHS = [
  process.env.CHROMIUM_PATH ?? '',
  ...['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/google-chrome'],
];
const executablePath = PATHS.find((path) => path !== '' && existsSync(path));

/** Why there is no browser on this machine; null if there is one. */
export const NO_BROWSER =
  executablePath === undefined
    ? 'no Chromium: install the package chromium-headless-shell or chromium, or set CHROMIUM_PATH'
    : null;

/** A headless browser that contacts no other host than that of its pages. */
export function startBrowser(args = []) {
  if (executablePath === undefined) throw new Error(NO_BROWSER);
  return chromium.launch({
    executablePath,
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
      ...['--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
      ...args,
    ],
  });
}

/** Opens the console, signed in by a link. */
export async function openConsole(browser, baseUrl, api, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, ...options });
  const { url } = await api.call('POST', '/login-links', {});
  await page.goto(new URL(`/console/sign-in${new URL(url).hash}`, baseUrl).href);
  await page.getByRole('button', { name: 'Sign in with this link' }).click();
  await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
  return page;
}
