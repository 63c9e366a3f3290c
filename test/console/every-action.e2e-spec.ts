import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '#testing';
import { NO_BROWSER, startBrowser } from '../support/browser.js';
import { Installation, type Program } from '../support/installation.js';
import { ConsolePage } from './console-page.js';
import { isLong } from '../support/long-tests.js';

const sh = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;
const ask = (title: string): string => `\`\`\`ask title="${title}"\n\`\`\`\n${sh('echo permitted')}`;

// The other tests of the console do the same in parts, with more checks.
describe.skipIf(NO_BROWSER !== null || !isLong)('every action of the console', { timeout: 120_000 }, () => {
  let installation: Installation;
  let server: Program;
  let browser: Browser;
  let console: ConsolePage;
  let page: Page;

  beforeAll(async () => {
    installation = await Installation.create({ API_RATE_PER_MINUTE: '0', NOTIFY_ALLOW_HTTP: 'true' });
    [server, browser] = await Promise.all([installation.up(), startBrowser()]);
    const link = /http\S+\/console\/sign-in#code=\S+/.exec(server.text)?.[0] ?? '';
    console = await ConsolePage.signedOut(browser, new URL(link).origin, {
      permissions: ['clipboard-read', 'clipboard-write', 'notifications'],
    });
    ({ page } = console);
    page.on('dialog', (dialog) => void dialog.accept());
    await page.goto(link);
    await click('Sign in with this link');
    await heading('Runs');
  });
  afterAll(async () => {
    await browser.close();
    await server.stop();
    installation.remove();
  });

  const click = (name: string, within: Page | Locator = page): Promise<void> =>
    within.getByRole('button', { name, exact: true }).click();
  const follow = (name: string, within: Page | Locator = page): Promise<void> =>
    within.getByRole('link', { name, exact: true }).first().click();
  const heading = (name: string, level = 1): Promise<void> =>
    page.getByRole('heading', { name, level, exact: true }).waitFor();
  const section = async (name: string): Promise<void> => {
    await page
      .getByRole('navigation', { name: 'Sections' })
      .getByRole('link', { name: new RegExp(`^${name}`) })
      .click();
    await page.getByRole('heading', { level: 1 }).first().waitFor();
  };
  const fill = (label: string, text: string, within: Page | Locator = page): Promise<void> =>
    within.getByLabel(label, { exact: true }).fill(text);
  const row = (text: string): Locator => page.getByRole('main').getByRole('row').filter({ hasText: text });
  const region = (name: string): Locator => page.getByRole('region', { name, exact: true });
  const dialog = (): Locator => page.getByRole('dialog');
  const submit = async (name: string): Promise<void> => {
    await click(name, dialog());
    await dialog().waitFor({ state: 'detached' });
  };
  const state = (name: string): Promise<void> => console.state(name).waitFor();
  const runPage = (): Promise<void> => page.waitForURL(/\/runs\/[0-9a-f-]{36}$/);
  const newRun = async (fields: Readonly<Record<string, string>>, permissions = ''): Promise<string> => {
    await section('Runs');
    await click('New run');
    for (const [label, text] of Object.entries(fields)) await fill(label, text, dialog());
    if (permissions !== '') await dialog().getByLabel('Permission requests').selectOption({ label: permissions });
    await submit('Create run');
    await runPage();
    return page.url();
  };
  const other = async (from: string): Promise<void> => {
    await page.waitForURL((url) => /\/runs\/[0-9a-f-]{36}$/.test(url.pathname) && url.href !== from);
  };
  const clipboard = (): Promise<string> => page.evaluate('navigator.clipboard.readText()');

  it('leads from the printed link to a finished run, a received webhook and a schedule', async () => {
    await click('Create the first run');
    const example = await dialog().getByLabel('Prompt').getAttribute('placeholder');
    await fill('Prompt', example ?? '', dialog());
    await submit('Create run');
    await state('SUCCEEDED');
    await section('Webhooks');
    await heading('Let other systems start runs', 2);
    await click('Create webhook');
    await click('Send a test delivery');
    await submit('Send');
    await page.getByText('It started a run.').waitFor();
    await section('Schedules');
    await click('Create the first schedule');
    await submit('Create schedule');
    await row('nightly').waitFor();
    console.expectQuiet();
  });

  it('creates, finds, filters, cancels and repeats runs', async () => {
    await section('Environments');
    await click('Create the first environment');
    await submit('Create environment');
    await row('first environment').waitFor();
    await section('Runs');
    await click('New run');
    await fill('Prompt', sh('cat "$HEADRACE_ATTACHMENTS_DIR/notes.txt"'), dialog());
    await fill('Title', 'with everything', dialog());
    await dialog().getByLabel('Agent', { exact: true }).selectOption('oz');
    await fill('Model', 'any-model', dialog());
    await dialog().getByLabel('Environment').selectOption({ label: 'first environment' });
    await fill('Labels', 'team=web', dialog());
    await dialog()
      .getByLabel('Attachments')
      .setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('attached text') });
    await click('As curl', dialog());
    await dialog().locator('pre', { hasText: '"team":"web"' }).waitFor();
    await submit('Create run');
    await state('SUCCEEDED');
    await newRun({ Prompt: sh('true'), Title: 'for another host', 'Worker host': 'elsewhere' });
    await newRun({ Prompt: sh('sleep 300'), Title: 'slow one' });
    await newRun({ Prompt: sh('sleep 300'), Title: 'slow two' });
    await section('Runs');
    const rows = page.getByRole('list', { name: 'Runs' }).getByRole('listitem');
    const count = (wanted: number) => until(async () => (await rows.count()) === wanted, 15_000, `${wanted} rows`);
    await page.getByLabel('Search runs').pressSequentially('slow');
    await count(2);
    await rows.first().getByRole('checkbox').check();
    await rows.last().getByRole('checkbox').check();
    await click('Cancel', region('Selected runs'));
    await until(async () => (await rows.locator('[data-state=CANCELLED]').count()) === 2, 20_000, 'both ends');
    await rows.first().getByRole('checkbox').check();
    await click('Rerun', region('Selected runs'));
    await count(3);
    await click('Cancelled');
    await count(2);
    await page.getByLabel('Search runs').fill('');
    await click('Cancelled');
    const filter = async (name: string, choose: (field: Locator) => Promise<unknown>): Promise<void> => {
      await page.getByRole('button', { name: 'Add filter' }).click();
      await page.getByLabel('Filter by').selectOption(name);
      await choose(page.getByLabel(name, { exact: true }));
      await click('Add', page.getByRole('form', { name: 'Add a filter' }));
    };
    await filter('Label', (field) => field.fill('team=web'));
    await count(1);
    await filter('Environment', (field) => field.selectOption({ label: 'first environment' }));
    await count(1);
    expect(new URL(page.url()).search).toContain('label=team%3Dweb&environment=');
    await page.reload();
    await count(1);
    console.expectQuiet();
  });

  it('reads, continues, interrupts, cancels, repeats, forks and shares a run', async () => {
    const first = await newRun({
      Prompt: sh('echo one > one.txt; printf "\\033[32mgreen\\033[0m\\n"'),
      Title: 'story',
    });
    await state('SUCCEEDED');
    await page.locator('[data-action=run_command] summary').click();
    await page.locator('pre .ansi-2', { hasText: 'green' }).waitFor();
    await page
      .getByLabel('Attachments')
      .setInputFiles({ name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('the plan') });
    await page.getByLabel('Message to the agent').fill(sh('echo two > two.txt; exit 3'));
    await click('Copy as curl');
    await until(async () => (await clipboard()).includes('/followups'), 5_000, 'the request');
    await click('Send');
    await page.locator('[data-action=run_command]').nth(1).waitFor();
    await state('SUCCEEDED');
    await click('First error');
    await page.getByLabel('Find in this run').fill('plan');
    await page.getByLabel('Find in this run').press('Enter');
    await page.getByText(/^1 of \d+$/).waitFor();
    for (const part of ['Timeline', 'Raw events', 'Details', 'Changes']) await follow(part);
    await page.locator('.diff .added', { hasText: '+two' }).waitFor();
    await click('As curl');
    await until(async () => (await clipboard()).includes('/agent/runs'), 5_000, 'the request');
    await click('Share');
    await until(async () => (await clipboard()).startsWith(first), 5_000, 'the link');
    await follow('Conversation');
    await page.getByRole('button', { name: 'Fork after this turn' }).first().click();
    await other(first);
    await state('SUCCEEDED');
    await follow('Forked from this run');
    await page.waitForURL(first);
    await click('Rerun');
    await other(first);
    await follow('Rerun of this run');
    await page.waitForURL(first);

    await newRun({ Prompt: sh('sleep 300') });
    await state('INPROGRESS');
    await page.locator('[data-action=run_command]').waitFor();
    await click('Interrupt');
    await console.state('INPROGRESS').waitFor({ state: 'detached' });
    await newRun({ Prompt: sh('sleep 300') });
    await state('INPROGRESS');
    await click('Cancel');
    await state('CANCELLED');
    console.expectQuiet();
  });

  it('answers permission requests at the run and in the inbox', async () => {
    await newRun({ Prompt: ask('At the run'), Title: 'asks once' }, 'Ask a person');
    await click('Allow');
    await state('SUCCEEDED');
    const second = await newRun({ Prompt: ask('In the inbox'), Title: 'asks again' }, 'Ask a person');
    await state('BLOCKED');
    await section('Inbox');
    const request = region('Permission request').filter({ hasText: 'In the inbox' });
    await follow('Link to this request', request);
    await click('Deny', region('Permission request'));
    await region('Permission request').getByText('Denied by').waitFor();
    await follow('Show the whole inbox');
    await heading('Nothing waits for you', 2);
    await click('Notify me in this browser');
    await click('Stop notifications of this browser');
    await page.goto(second);
    await state('SUCCEEDED');
    console.expectQuiet();
  });

  it('opens the debug window of a run whose set-up has failed', async () => {
    await section('Environments');
    await click('New environment');
    await fill('Name', 'broken', dialog());
    await fill('Command 1', 'echo preparing; exit 7', dialog());
    await fill('Minutes for debugging', '5', dialog());
    await submit('Create environment');
    await section('Runs');
    await click('New run');
    await fill('Prompt', sh('true'), dialog());
    await dialog().getByLabel('Environment').selectOption({ label: 'broken' });
    await submit('Create run');
    await state('FAILED');
    await click('Open debug window');
    await page.getByLabel('Message to the debug agent').fill(sh('echo looked'));
    await click('Send');
    await page.locator('[data-action=run_command][data-state=completed]').waitFor();
    console.expectQuiet();
  });

  it('manages webhooks, their deliveries and notification webhooks', async () => {
    await section('Webhooks');
    await follow('events', row('events'));
    await follow('Deliveries');
    await row('It started a run.').getByRole('link').first().click();
    await page.getByLabel('Body', { exact: true }).waitFor();
    const delivery = page.url();
    await click('Redeliver');
    await page.waitForURL(({ href }) => href !== delivery);
    await page.getByText('It started a run.').waitFor();
    await page.getByRole('list', { name: 'Automations' }).getByRole('link', { name: /^Run / }).click();
    await page.getByText('Delivery', { exact: false }).first().waitFor();
    await page.goBack();
    await click('Rotate secret');
    await submit('Rotate secret');
    await page.getByRole('status').locator('code').waitFor();
    await follow('Settings');
    await fill('Header with the delivery id', 'x-event-id');
    await click('Save');
    await page.getByText('Saved.').waitFor();
    await click('Disable');
    await click('Enable');
    await click('Disable');
    await section('Webhooks');
    await click('Enable', row('events'));
    await row('events').getByText('Enabled').waitFor();
    await follow('Notifications');
    await click('New notification webhook');
    await fill('Name', 'deploys', dialog());
    await fill('Address', 'https://hooks.invalid/headrace', dialog());
    await submit('Create notification webhook');
    await click('Send a test message', row('deploys'));
    await region('Messages').getByRole('row').filter({ hasText: 'webhook.test' }).waitFor();
    await click('Edit', row('deploys'));
    await fill('Name', 'releases', dialog());
    await submit('Save');
    await click('Rotate secret', row('releases'));
    await page.getByRole('status').locator('code').waitFor();
    await click('Disable', row('releases'));
    await click('Delete', row('releases'));
    await heading('No notification webhook yet', 2);
    console.expectQuiet();
  });

  it('edits an automation with tested filters, and plans and applies definition files', async () => {
    await section('Automations');
    await follow('events', row('events'));
    await page.getByText(/deliveries match/).waitFor();
    await click('Add condition');
    await page.getByLabel('Field').fill('event');
    await page.getByLabel('Values').fill('test');
    await page.getByText(/^2 of the last 2 deliveries match/).waitFor();
    await page.getByLabel('Values').fill('other');
    await page.getByText(/^0 of the last 2 deliveries match/).waitFor();
    await page.getByLabel('Values').fill('test');
    await click('Save');
    await page.getByText('Saved.').waitFor();
    await follow('History');
    await region('Runs of the automation').getByRole('row').nth(1).waitFor();
    await click('Disable');
    await click('Enable');
    await section('Automations');
    await follow('Definition files');
    await fill('Path of a new file', 'automations/daily/automation.md');
    await click('Add file');
    await click('Plan');
    await row('daily').getByText('create').waitFor();
    await click('Apply');
    await page.getByText('Applied.').waitFor();
    const download = page.waitForEvent('download');
    await click('Export');
    expect((await download).suggestedFilename()).toMatch(/-definition\.json$/);
    await follow('Automations', page.getByRole('navigation', { name: 'Parts of the factory' }));
    await row('daily').getByText('Enabled', { exact: true }).waitFor();
    await click('Disable', row('daily'));
    await row('daily').getByText('Disabled', { exact: true }).waitFor();
    console.expectQuiet();
  });

  it('manages schedules, environments and secrets', async () => {
    await section('Schedules');
    await click('7 days');
    await click('Pause', row('nightly'));
    await click('Resume', row('nightly'));
    await click('Edit', row('nightly'));
    await click('Every hour', dialog());
    await submit('Save');
    await row('nightly').getByText('Every hour').waitFor();
    await click('Run now', row('nightly'));
    await runPage();
    await state('SUCCEEDED');
    await page.locator('.facts').getByRole('link', { name: 'nightly' }).click();
    await heading('nightly');
    await region('Runs').locator('[data-state=SUCCEEDED]').waitFor();
    await click('Delete');
    await heading('No schedules yet', 2);
    await section('Environments');
    await follow('first environment', row('first environment'));
    await click('Edit');
    await fill('Description', 'For everything', dialog());
    await submit('Save');
    await page.getByText('For everything').waitFor();
    await click('Delete');
    await row('first environment').waitFor({ state: 'detached' });
    await section('Secrets');
    await click('New secret');
    await fill('Name', 'NPM_TOKEN', dialog());
    await fill('Value', 'first-value', dialog());
    await submit('Create secret');
    await click('Replace value', row('NPM_TOKEN'));
    await fill('Value', 'second-value', dialog());
    await submit('Replace value');
    await click('Delete', row('NPM_TOKEN'));
    await row('NPM_TOKEN').waitFor({ state: 'detached' });
    console.expectQuiet();
  });

  it('manages members, tokens, service accounts and sessions, and shows agents, workers, status and the audit log', async () => {
    await section('Team');
    await fill('E-mail address', 'ada@example.test');
    await page.getByLabel('Role', { exact: true }).selectOption('viewer');
    await click('Create invitation');
    const link = (await page.getByRole('status').locator('code').textContent()) ?? '';
    const ada = await (await browser.newContext()).newPage();
    await ada.goto(link);
    await fill('Your name', 'Ada', ada);
    await click('Create account and join', ada);
    await ada.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
    await page.reload();
    await page.getByLabel('Role of Ada').selectOption('member');
    await click('Remove', row('ada@example.test'));
    await page.getByLabel('Role of Ada').waitFor({ state: 'detached' });
    await follow('Tokens');
    await fill('Name of the token', 'laptop');
    await click('Create token');
    await click('Revoke', row('laptop'));
    await row('laptop').waitFor({ state: 'detached' });
    await follow('Service accounts');
    await fill('Name of the service account', 'pipeline');
    await click('Create service account');
    await click('Delete', row('pipeline'));
    await row('pipeline').waitFor({ state: 'detached' });
    await follow('Sessions');
    await row('(this browser)').waitFor();
    await follow('Audit log');
    await row('service_account.deleted').waitFor();
    await section('Agents');
    await region('Skills').getByRole('link').first().click();
    await page.locator('.markdown').first().waitFor();
    await section('Workers');
    await row('oz').first().waitFor();
    await section('Status');
    await page.getByText('The API accepts requests.').waitFor();
    console.expectQuiet();
    await click('Sign out');
    await heading('Sign in to Headrace');
  });
});
