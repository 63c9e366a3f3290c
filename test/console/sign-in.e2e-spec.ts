import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NO_BROWSER, startBrowser } from '../support/browser.js';
import { freePort, Installation, MAIN, Program } from '../support/installation.js';
import { type RealProvider, startRealProvider } from '../support/openid/real-provider.js';
import { ConsolePage } from './console-page.js';

const CLIENT = { id: 'headrace', secret: 'secret-of-the-client' };

describe.skipIf(NO_BROWSER !== null)('sign-in', { timeout: 120_000 }, () => {
  let provider: RealProvider;
  let installation: Installation;
  let server: Program;
  let browser: Browser;
  let origin: string;
  const directory = mkdtempSync(join(tmpdir(), 'headrace-login-'));

  beforeAll(async () => {
    const port = await freePort();
    origin = `http://127.0.0.1:${port}`;
    provider = await startRealProvider({ ...CLIENT, redirectUri: `${origin}/api/v1/sign-in/openid/callback` });
    installation = await Installation.create({
      PORT: String(port),
      API_RATE_PER_MINUTE: '0',
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: CLIENT.id,
      OIDC_CLIENT_SECRET: CLIENT.secret,
      OIDC_NAME: 'Example',
      OIDC_CREATE_USERS: 'true',
    });
    [server, browser] = await Promise.all([installation.up(), startBrowser()]);
  });
  afterAll(async () => {
    await browser.close();
    await server.stop();
    await provider.close();
    installation.remove();
    rmSync(directory, { recursive: true, force: true });
  });

  /** A browser that contacts only the console and the provider. */
  async function open(): Promise<ConsolePage> {
    const console = await ConsolePage.signedOut(browser, origin);
    await console.page.route(
      (url) => ![origin, provider.issuer].includes(url.origin),
      (route) => route.abort(),
    );
    return console;
  }

  async function signInAtProvider(page: Page, name: string): Promise<void> {
    await page.getByPlaceholder('Enter any login').fill(name);
    await page.getByPlaceholder('and password').fill('any password');
    await page.getByRole('button', { name: 'Sign-in' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
  }

  it('at a provider of another site leads to the page that the user wanted, with a cookie for this site only', async () => {
    const console = await open();
    const { page } = console;
    await page.goto(`${origin}/console/inbox`);
    await page.getByRole('link', { name: 'Sign in with Example' }).waitFor();
    await console.expectAccessible();
    expect(console.errors).toEqual([]);
    await page.getByRole('link', { name: 'Sign in with Example' }).click();
    await page.waitForURL((url) => url.origin === provider.issuer);
    const [flow] = await page.context().cookies(origin);
    expect(flow).toMatchObject({ httpOnly: true, sameSite: 'Lax' });
    await signInAtProvider(page, 'ada');
    await page.waitForURL(`${origin}/console/inbox`);
    await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
    await page.getByText('Name of ada').waitFor();
    const cookies = await page.context().cookies(origin);
    expect(cookies.map(({ name }) => name)).toEqual([`headrace_session_${new URL(origin).port}`]);
    expect(cookies[0]).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
    await page.reload();
    await page.getByText('Name of ada').waitFor();
    // Again in this browser: another session, and the one before has ended.
    await page.goto(`${origin}/console/sign-in`);
    await page.getByRole('link', { name: 'Sign in with Example' }).click();
    await page.waitForURL(`${origin}/console/runs`);
    const [next] = await page.context().cookies(origin);
    expect(next?.value).not.toBe(cookies[0]?.value);
    const earlier = await fetch(`${origin}/api/v1/me`, {
      headers: { cookie: `${cookies[0]?.name}=${cookies[0]?.value}` },
    });
    expect(earlier.status).toBe(401);
    await console.close();
  });

  it('explains why it failed, in words of the console', async () => {
    const console = await open();
    const { page } = console;
    await page.goto(`${origin}/console/sign-in`);
    await page.getByRole('link', { name: 'Sign in with Example' }).click();
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.waitForURL(`${origin}/console/sign-in?error=denied`);
    await page.getByRole('alert').getByText('you have cancelled it').waitFor();
    await console.expectAccessible();
    await page.goto(`${origin}/console/sign-in?error=${encodeURIComponent('<img src=x onerror=alert(1)>')}`);
    await page.getByRole('alert').getByText('The sign-in at the provider failed.').waitFor();
    // Neither host nor script in the address is followed.
    await page.goto(`${origin}/console/sign-in?signed_in=1&return_to=${encodeURIComponent('//evil.example')}`);
    await page.getByRole('alert').getByText('has not kept the cookie').waitFor();
    expect(new URL(page.url()).origin).toBe(origin);
    await console.close();
  });

  /** `headrace login` in a terminal. */
  function login(): Program {
    const command = `'${process.execPath}' '${MAIN}' login --url ${origin}`;
    const env = { PATH: process.env.PATH ?? '', HOME: directory, HEADRACE_DATA_DIR: directory };
    const child = spawn('script', ['-qefc', command, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'pipe'] });
    return new Program(child, 'login');
  }

  it('of the command line is approved in the console, or denied', async () => {
    const console = await open();
    const { page } = console;
    const program = login();
    await program.says('Waiting for your approval');
    const [, address = ''] = /Open (\S+)/.exec(program.text) ?? [];
    const [, code = ''] = /code there: (\S+)/.exec(program.text) ?? [];
    expect(address).toBe(`${origin}/console/device?user_code=${code}`);
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(address);
    // Nobody is signed in: the sign-in leads back to the code.
    await page.getByRole('link', { name: 'Sign in with Example' }).click();
    await signInAtProvider(page, 'ben');
    await page.waitForURL(address);
    await page.locator('dl').getByText('headrace on').waitFor();
    expect(await page.locator('dl').innerText()).toContain('127.0.0.1');
    expect(await page.locator('dl code').innerText()).toBe(code);
    await console.expectAccessible();
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 1440, height: 900 });
    await console.expectAccessible();
    await page.getByLabel('Token is valid for').selectOption('1 day');
    await console.button('Approve').click();
    await page.getByRole('heading', { name: 'The program is logged in' }).waitFor();
    expect(await program.exited, program.text).toBe(0);
    const credentials = JSON.parse(readFileSync(join(directory, '.config/headrace/credentials.json'), 'utf8')) as {
      tokens: Record<string, string>;
    };
    const token = credentials.tokens[`${origin}/api/v1`] ?? '';
    expect(program.text).not.toContain(token);
    expect((await installation.call('GET', '/me', undefined, token)).body).toMatchObject({ email: 'ben@example.test' });
    const { tokens } = (await installation.call('GET', '/tokens', undefined, token)).body;
    expect(Date.parse(tokens[0].expires_at) - Date.now()).toBeLessThan(86_400_000);

    const denied = login();
    await denied.says('Waiting for your approval');
    const [, other = ''] = /code there: (\S+)/.exec(denied.text) ?? [];
    await page.goto(`${origin}/console/device`);
    await page.getByLabel('Code that the program shows').fill('bbbb-bbbb');
    await console.button('Continue').click();
    await page.getByRole('alert').getByText('No program waits with this code').waitFor();
    console.errors.length = 0;
    await page.getByLabel('Code that the program shows').fill(other.toLowerCase().replace('-', ' '));
    await console.button('Continue').click();
    await console.button('Deny').click();
    await page.getByRole('heading', { name: 'The login was denied' }).waitFor();
    expect(await denied.exited).toBe(1);
    expect(denied.text).toContain('the login was denied in the console');
    expect(console.errors).toEqual([]);
    await console.close();
  });

  it('of the command line without a terminal needs a token', async () => {
    await expect(installation.shell(`headrace login --url ${origin}`, directory)).rejects.toThrow(
      /ended with 2[^]*standard input is not a terminal[^]*--token-file/,
    );
  });
});
