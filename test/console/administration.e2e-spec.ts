import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '#testing';
import { NO_BROWSER, startBrowser } from '../support/browser.js';
import { Installation, type Program } from '../support/installation.js';
import { ConsolePage } from './console-page.js';

describe.skipIf(NO_BROWSER !== null)('the console', { timeout: 120_000 }, () => {
  let installation: Installation;
  let server: Program;
  let browser: Browser;
  let console: ConsolePage;

  beforeAll(async () => {
    installation = await Installation.create({ API_RATE_PER_MINUTE: '0' });
    [server, browser] = await Promise.all([installation.up(), startBrowser()]);
    console = await ConsolePage.open(browser, installation);
  });
  afterAll(async () => {
    await browser.close();
    await server.stop();
    installation.remove();
  });

  it('invites a person with read access to the team by a link, which creates the account', async () => {
    const { page } = console;
    await console.go('team');
    const invitations = page.getByRole('region', { name: 'Invite a person' });
    const invite = async (email: string): Promise<string> => {
      await invitations.getByLabel('E-mail address').fill(email);
      await invitations.getByLabel('Role', { exact: true }).selectOption('viewer');
      await console.button('Create invitation').click();
      await invitations.getByRole('row').filter({ hasText: email }).waitFor();
      return (await invitations.locator('code', { hasText: '#code=' }).textContent()) ?? '';
    };
    const revoked = await invite('eve@example.test');
    page.once('dialog', (dialog) => void dialog.accept());
    await invitations.getByRole('row').filter({ hasText: 'eve@example.test' }).getByRole('button').click();
    await invitations.getByRole('row').filter({ hasText: 'eve@example.test' }).waitFor({ state: 'detached' });
    await invitations.getByText('viewer: may read the runs of the team.').waitFor();
    const link = await invite('ada@example.test');
    await console.expectAccessible();
    const ada = await (await browser.newContext({ viewport: { width: 360, height: 720 } })).newPage();
    await ada.goto(revoked);
    await ada.getByRole('alert').getByText('revoked').waitFor();
    await ada.goto(link);
    await ada.getByRole('heading', { name: 'Join Default team' }).waitFor();
    expect(ada.url()).not.toContain('code=');
    await ada.getByText('ada@example.test').waitFor();
    expect(await ada.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    await ada.getByLabel('Your name').fill('Ada');
    await ada.getByRole('button', { name: 'Create account and join' }).click();
    await ada.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
    await console.go('team');
    await page.getByLabel('Role of Ada').waitFor();
    expect(await page.getByRole('region', { name: 'Open invitations' }).count()).toBe(0);
    // A viewer only reads.
    expect(await ada.getByRole('button', { name: 'New run' }).count()).toBe(0);
    await ada.getByRole('link', { name: 'Team' }).click();
    await ada.getByRole('cell', { name: 'ada@example.test' }).first().waitFor();
    expect(await ada.getByRole('link', { name: 'Audit log' }).count()).toBe(0);
    await page.getByLabel('Role of Ada').selectOption('member');
    await until(
      async () => {
        await ada.goto(`${console.origin}/console/runs`);
        await ada.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
        return (await ada.getByRole('button', { name: 'New run' }).count()) === 1;
      },
      10_000,
      'the new role',
    );
    page.once('dialog', (dialog) => void dialog.accept());
    await page.getByRole('row').filter({ hasText: 'ada@example.test' }).getByRole('button', { name: 'Remove' }).click();
    await page.getByLabel('Role of Ada').waitFor({ state: 'detached' });
    await ada.context().close();
    // The role of the last owner cannot change, and the selection shows the role that is valid.
    await page.getByLabel('Role of Owner').selectOption('viewer');
    await page.getByRole('alert').getByText('last owner').waitFor();
    expect(await page.getByLabel('Role of Owner').inputValue()).toBe('owner');
    console.expectRejected(409);
    console.expectQuiet();
  });

  it('creates and revokes a token, which it shows once', async () => {
    const { page } = console;
    await console.go('team?tab=tokens');
    await page.getByLabel('Name of the token').fill('laptop');
    await console.button('Create token').click();
    const token = (await page.getByRole('status').locator('code').textContent()) ?? '';
    expect((await installation.callAt('GET', '/me', undefined, token)).status).toBe(200);
    page.once('dialog', (dialog) => void dialog.accept());
    await page.getByRole('row').filter({ hasText: 'laptop' }).getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('row').filter({ hasText: 'laptop' }).waitFor({ state: 'detached' });
    await until(
      async () => (await installation.callAt('GET', '/me', undefined, token)).status === 401,
      5_000,
      'the end of the token',
    );
    await console.go('team?tab=tokens');
    expect(await page.getByText(token).count()).toBe(0);
    console.expectQuiet();
  });

  it('creates a service account with a token, and shows all of it in the audit log', async () => {
    const { page } = console;
    await console.go('team?tab=service-accounts');
    await page.getByLabel('Name of the service account').fill('pipeline');
    await console.button('Create service account').click();
    const row = page.getByRole('row').filter({ hasText: 'pipeline' });
    await row.getByRole('button', { name: 'Tokens' }).click();
    await page.getByLabel('Name of the token').fill('ci');
    await console.button('Create token').click();
    await page.getByRole('status').locator('code').waitFor();
    await page.getByRole('link', { name: 'Audit log' }).click();
    await page
      .getByRole('row')
      .filter({ hasText: 'service_account.created' })
      .filter({ hasText: 'pipeline' })
      .waitFor();
    await page.getByLabel('Action').fill('token.');
    await page.getByLabel('Action').press('Enter');
    await page.getByRole('row').filter({ hasText: 'service_account.created' }).waitFor({ state: 'detached' });
    await page.getByRole('row').filter({ hasText: 'token.created' }).first().waitFor();
    expect(page.url()).toContain('action=token.');
    console.expectQuiet();
  });

  it('pauses, resumes and starts a schedule', async () => {
    const { page } = console;
    await installation.call('POST', '/agent/schedules', {
      name: 'nightly',
      cron_schedule: '0 3 * * *',
      prompt: '```sh\necho nightly\n```',
      enabled: true,
    });
    await console.go('schedules');
    await console.button('Pause').click();
    await console.button('Resume').click();
    await console.button('Pause').waitFor();
    await console.button('Run now').click();
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}$/);
    await console.state('SUCCEEDED').waitFor();
    await console.go('schedules');
    await page.getByRole('row').getByRole('link', { name: 'Runs', exact: true }).click();
    await page.waitForURL(/\/runs\?schedule=/);
    await until(
      async () => (await page.getByRole('list', { name: 'Runs' }).getByRole('listitem').count()) === 1,
      10_000,
      'its run',
    );
    page.once('dialog', (dialog) => void dialog.accept());
    await console.go('schedules');
    await console.button('Delete').click();
    await page.getByRole('heading', { name: 'No schedules yet' }).waitFor();
    console.expectQuiet();
  });

  it('shows workers and agents', async () => {
    const { page } = console;
    await console.go('workers');
    await page.getByRole('heading', { name: 'No self-hosted worker is connected' }).waitFor();
    await page.getByRole('row').filter({ hasText: 'oz' }).getByText('all workers').waitFor();
    console.expectQuiet();
  });
});
