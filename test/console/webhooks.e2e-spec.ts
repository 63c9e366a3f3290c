import { createHmac } from 'node:crypto';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '#testing';
import { pageOfTrigger } from '../../libs/domain/notifications/src/domain/formats/trigger-page.js';
import { NO_BROWSER, startBrowser } from '../support/browser.js';
import { Installation, type Program } from '../support/installation.js';
import { ConsolePage } from './console-page.js';

const ATTACK = '<img src=x onerror="window.attacked=1">';

describe.skipIf(NO_BROWSER !== null)('webhooks and automations in the console', { timeout: 120_000 }, () => {
  let installation: Installation;
  let server: Program;
  let browser: Browser;
  let console: ConsolePage;
  /** Of the webhook of the first test. */
  let hook: { readonly uid: string; readonly url: string; readonly secret: string };

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

  const factory = (path: string): string => `/factories/${installation.connection.factory_uid}${path}`;
  const region = (name: string) => console.page.getByRole('region', { name, exact: true });
  const post = (url: string, body: string, headers: Record<string, string>): Promise<Response> =>
    fetch(url, { method: 'POST', body, headers });
  const postHook = (body: string, secret = hook.secret): Promise<Response> =>
    post(hook.url, body, { authorization: `Bearer ${secret}` });

  it('leads by clicks alone from an empty page to a received webhook and the run that it has started', async () => {
    const { page } = console;
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await page.getByRole('heading', { name: 'Let other systems start runs' }).waitFor();
    await console.expectAccessibleEverywhere();
    await console.button('Create webhook').click();
    const secret = (await page.getByRole('status').locator('code').textContent()) ?? '';
    const [uid = ''] = /(?<=webhooks\/)\w{22}/.exec(page.url()) ?? [];
    const url = (await region('Set up the sender').locator('code').first().textContent()) ?? '';
    hook = { uid, url, secret };
    await console.expectAccessibleEverywhere();
    await console.button('Send a test delivery').click();
    await console.button('Send').click();
    await page.getByText('It started a run.').waitFor();
    await console.expectAccessibleEverywhere();
    await page.getByRole('list', { name: 'Automations' }).getByRole('link', { name: /^Run / }).click();
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}$/);
    await console.state('SUCCEEDED').waitFor();
    // The secret is shown once.
    await console.go(`webhooks/${uid}?tab=set-up`);
    await region('Set up the sender').getByText(url, { exact: true }).waitFor();
    expect(await page.getByText(secret).count()).toBe(0);
    console.expectQuiet();
  });

  it('shows deliveries as they arrive, with their reasons, filters them by outcome and redelivers one', async () => {
    const { page } = console;
    await console.go(`webhooks/${hook.uid}`);
    const rows = region('Deliveries').getByRole('row');
    await rows.filter({ hasText: 'Accepted' }).waitFor();
    const body = JSON.stringify({ action: 'closed', title: ATTACK, mark: '\u202egnirts', long: 'x'.repeat(5000) });
    expect((await postHook(body)).status).toBe(202);
    await until(async () => (await rows.filter({ hasText: 'Accepted' }).count()) === 2, 15_000, 'the delivery');
    expect((await postHook(body)).status).toBe(202);
    expect((await postHook(body, 'wrong')).status).toBe(401);
    expect((await postHook('{')).status).toBe(400);
    await rows.filter({ hasText: 'A delivery with the same identity was accepted before' }).waitFor();
    await rows.filter({ hasText: 'The token or signature is missing or wrong' }).waitFor();
    await rows.filter({ hasText: 'The body is not JSON' }).waitFor();
    await console.button('Rejected (auth)').click();
    await until(async () => (await rows.count()) === 2, 10_000, 'one row below the header');
    expect(new URL(page.url()).searchParams.get('outcome')).toBe('Rejected (auth)');
    await page.reload();
    await until(async () => (await rows.count()) === 2, 10_000, 'the filter of the URL');
    await console.expectAccessibleEverywhere();
    await console.button('Accepted').click();
    await rows.filter({ hasText: 'started' }).nth(1).waitFor();
    await rows.nth(1).getByRole('link').first().click();
    await page.getByLabel('Body', { exact: true }).getByText('<img src=x onerror=').waitFor();
    await page.getByText('"action": "closed"').waitFor();
    expect(await page.locator('main').getByText(hook.secret).count()).toBe(0);
    await console.expectAccessibleEverywhere();
    const first = page.url();
    await console.button('Redeliver').click();
    await page.waitForURL(({ href }) => href !== first);
    await page.getByText('Redelivery of').waitFor();
    await page.getByText('It started a run.').waitFor();
    // Chat messages about the run link this page.
    const [{ run_id: runId }] = (await installation.call('GET', '/agent/runs?limit=1')).body.runs;
    const { trigger_url: trigger } = await installation.run(runId);
    await page.goto(pageOfTrigger(trigger, console.origin) ?? '');
    await page.getByText('Redelivery of').waitFor();
    expect(await page.evaluate('window.attacked')).toBeUndefined();
    console.expectQuiet();
  });

  it('edits the filter of an automation while it is tested with stored deliveries, and shows why others do not match', async () => {
    const { page } = console;
    await console.go('automations');
    await region('Automations').getByRole('link', { name: 'events' }).click();
    await page.getByText(/^3 of the last 3 deliveries match/).waitFor();
    await console.button('Add condition').click();
    await page.getByLabel('Field').fill('action');
    await page.getByLabel('Values').fill('opened');
    await page.getByText('0 of the last 3 deliveries match.').waitFor();
    await page.getByText('`action` is "closed", which is not "opened".').first().waitFor();
    await console.expectAccessibleEverywhere();
    await page.getByLabel('Values').fill('opened, closed');
    await page.getByText('2 of the last 3 deliveries match.').waitFor();
    await console.button('Edit as JSON').click();
    expect(JSON.parse(await page.getByLabel('Filter', { exact: true }).inputValue())).toEqual({
      action: ['opened', 'closed'],
    });
    await page.getByText('Insert a value of the event').click();
    await page.getByLabel('Prompt').fill('Look at ');
    await console.button('action').click();
    expect(await page.getByLabel('Prompt').inputValue()).toBe('Look at {{ payload.action }}');
    await console.button('Save').click();
    await page.getByText('Saved.').waitFor();
    const saved = (await installation.call('GET', factory('/automations'))).body.automations[0];
    expect(saved).toMatchObject({ prompt: 'Look at {{ payload.action }}', enabled: true });
    expect(saved.triggers[0].filter).toEqual({ webhook_ids: [hook.uid], payload: { action: ['opened', 'closed'] } });
    await postHook(JSON.stringify({ action: 'labeled' }));
    await page.getByRole('link', { name: 'History' }).click();
    await region('Latest deliveries').getByText('`action` is "labeled"').waitFor();
    await console.expectAccessibleEverywhere();
    await console.button('Disable').click();
    await console.button('Enable').waitFor();
    console.expectQuiet();
    // An error of the API is beside its field, also when the form is sent before the list of webhooks has come.
    let release = (): void => undefined;
    const isSent = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/webhooks', async (route) => {
      await isSent;
      await route.continue();
    });
    await console.go('automations/new');
    await page.getByLabel('Name', { exact: true }).fill('broken');
    await page.getByLabel('Prompt').fill('{{ payload. }}');
    await console.button('Create automation').click();
    release();
    await page
      .locator('.field', { has: page.getByLabel('Prompt') })
      .getByRole('alert')
      .waitFor();
    await page.unroute('**/webhooks');
    await page.getByLabel('Prompt').fill('Look.');
    await console.button('Create automation').click();
    await page.getByRole('heading', { name: 'broken', level: 1 }).waitFor();
    page.once('dialog', (dialog) => void dialog.accept());
    await console.button('Delete').click();
    await region('Automations').getByRole('row').filter({ hasText: 'events' }).waitFor();
    expect(await region('Automations').getByText('broken').count()).toBe(0);
    console.expectRejected(400);
    console.expectQuiet();
  });

  it('creates a webhook for GitHub with its steps, which accepts signed deliveries until it is disabled', async () => {
    const { page } = console;
    await console.go('webhooks');
    await region('Webhooks').getByRole('link', { name: 'events' }).waitFor();
    await console.button('New webhook').click();
    await page.getByLabel('Sender').selectOption('github');
    await page.getByLabel('Name', { exact: true }).fill(ATTACK);
    await page.getByLabel('Start a run for each delivery').uncheck();
    await console.expectAccessibleEverywhere();
    await console.button('Create webhook').click();
    await page.getByText('Enter the address as Payload URL').waitFor();
    const secret = (await page.getByRole('status').locator('code').textContent()) ?? '';
    const url = (await region('Set up the sender').locator('code').first().textContent()) ?? '';
    const body = JSON.stringify({ zen: 'Keep it logically awesome.' });
    const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
    const headers = { 'x-hub-signature-256': signature, 'x-github-delivery': 'one', 'x-github-event': 'ping' };
    expect((await post(url, body, headers)).status).toBe(202);
    await page.getByRole('link', { name: 'Deliveries' }).click();
    const row = region('Deliveries').getByRole('row').filter({ hasText: 'No automation selects this webhook' });
    await row.getByRole('link').click();
    await page.getByText('x-github-event').waitFor();
    expect(await page.getByText(signature).count()).toBe(0);
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByLabel('Name', { exact: true }).fill('repository');
    await console.button('Save').click();
    await page.getByRole('heading', { name: 'repository', level: 1 }).waitFor();
    await console.expectAccessibleEverywhere();
    await console.button('Rotate secret').click();
    await page.getByLabel('Secret of the sender').fill('another secret');
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate secret' }).click();
    await page.getByRole('status').getByText('another secret').waitFor();
    expect((await post(url, body, { ...headers, 'x-github-delivery': 'two' })).status).toBe(401);
    await console.button('Disable').click();
    await page.getByText('It was disabled by a user').waitFor();
    expect((await post(url, body, headers)).status).toBe(404);
    page.once('dialog', (dialog) => void dialog.accept());
    await console.button('Delete').click();
    await region('Webhooks').getByRole('link', { name: 'events' }).waitFor();
    expect(await region('Webhooks').getByText('repository').count()).toBe(0);
    expect(await page.evaluate('window.attacked')).toBeUndefined();
    console.expectQuiet();
  });

  it('plans definition files with their changes, shows their errors, and applies them', async () => {
    const { page } = console;
    await console.go('automations?tab=definition-files');
    await page.getByLabel('Path of a new file').fill('automations/daily/automation.md');
    await console.button('Add file').click();
    await console.button('Plan').click();
    await region('Plan').getByRole('row').filter({ hasText: 'daily' }).filter({ hasText: 'create' }).waitFor();
    await region('Lines of automations/daily/automation.md').getByText('+Summarise the open issues.').waitFor();
    expect((await installation.call('GET', factory('/automations'))).body.automations).toHaveLength(1);
    await console.expectAccessibleEverywhere();
    await console.button('Apply').click();
    await page.getByText('Applied.').waitFor();
    expect((await installation.call('GET', factory('/automations'))).body.automations).toHaveLength(2);
    await page.getByLabel('Content').fill('---\nenable: true\n---\n\nGo.\n');
    await console.button('Plan').click();
    await region('Errors of the files').getByText('enable').first().waitFor();
    await console.go('automations');
    await region('Automations').getByRole('row').filter({ hasText: 'from definition files' }).waitFor();
    await console.expectAccessibleEverywhere();
    console.expectQuiet();
  });

  it('creates a notification webhook, shows the result of a test message, and deletes it', async () => {
    const { page } = console;
    await console.go('webhooks?tab=notifications');
    await page.getByRole('heading', { name: 'No notification webhook yet' }).waitFor();
    await console.button('New notification webhook').click();
    await page.getByLabel('Name', { exact: true }).fill('deploys');
    await page.getByLabel('Address').fill('http://127.0.0.1:9/hook');
    await console.button('Create notification webhook').click();
    await page
      .locator('.field', { has: page.getByLabel('Address') })
      .getByRole('alert')
      .waitFor();
    console.expectRejected(400);
    await page.getByLabel('Address').fill('https://hooks.invalid/headrace');
    await page.getByLabel('Cancelled').uncheck();
    await console.expectAccessibleEverywhere();
    await console.button('Create notification webhook').click();
    await page
      .getByRole('status')
      .getByText(/^whsec_/)
      .waitFor();
    const row = region('Notification webhooks').getByRole('row').filter({ hasText: 'deploys' });
    expect(await row.getByText('run.cancelled').count()).toBe(0);
    await row.getByRole('button', { name: 'Send a test message' }).click();
    await region('Messages')
      .getByRole('row')
      .filter({ hasText: 'webhook.test' })
      .filter({ hasText: 'Attempt 1' })
      .waitFor();
    await console.expectAccessibleEverywhere();
    await row.getByRole('button', { name: 'Disable' }).click();
    await row.getByRole('button', { name: 'Enable' }).waitFor();
    page.once('dialog', (dialog) => void dialog.accept());
    await row.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'No notification webhook yet' }).waitFor();
    console.expectQuiet();
  });

  it('hides from a viewer what only managers may do', async () => {
    const { connection } = installation;
    const { body: user } = await installation.call('POST', '/users', { email: 'viewer@example.test' });
    await installation.call('PUT', `/members/${user.uid}`, { role: 'viewer' });
    const { body: link } = await installation.call('POST', '/login-links', { user_uid: user.uid });
    const page = await (await browser.newContext()).newPage();
    await page.goto(link.url);
    await page.getByRole('button', { name: 'Sign in with this link' }).click();
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await page.getByRole('heading', { name: 'Only admins and owners manage webhooks' }).waitFor();
    await page.getByRole('link', { name: 'Notifications' }).click();
    await page.getByRole('heading', { name: 'No notification webhook yet' }).waitFor();
    expect(await page.getByRole('button', { name: /^New/ }).count()).toBe(0);
    await page.goto(`${new URL(connection.base_url).origin}/console/automations`);
    await page.getByRole('heading', { name: 'Only admins and owners manage automations' }).waitFor();
    await page.context().close();
  });
});
