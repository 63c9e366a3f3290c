import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '#testing';
import { NO_BROWSER, startBrowser } from '../support/browser.js';
import { Installation, type Program } from '../support/installation.js';
import { isLong } from '../support/long-tests.js';
import { ConsolePage } from './console-page.js';

const ATTACK = '<img src=x onerror="window.attacked=1">\u202egnirts';
const sh = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;

describe.skipIf(NO_BROWSER !== null)('the console', { timeout: 120_000 }, () => {
  let installation: Installation;
  let server: Program;
  let browser: Browser;
  let console: ConsolePage;

  beforeAll(async () => {
    installation = await Installation.create({ API_RATE_PER_MINUTE: '0', NOTIFY_ALLOW_HTTP: 'true' });
    [server, browser] = await Promise.all([installation.up(), startBrowser()]);
    console = await ConsolePage.open(browser, installation);
    console.page.on('dialog', (dialog) => void dialog.accept());
  });
  afterAll(async () => {
    await browser.close();
    await server.stop();
    installation.remove();
  });

  const dialog = () => console.page.getByRole('dialog');
  const row = (text: string) => console.page.getByRole('main').getByRole('row').filter({ hasText: text });
  const save = async (name: string): Promise<void> => {
    await dialog().getByRole('button', { name, exact: true }).click();
    await dialog().waitFor({ state: 'detached' });
  };

  it('teaches with empty views, whose first environment, schedule and run work as proposed', async () => {
    const { page } = console;
    await console.go('environments');
    await console.button('Create the first environment').click();
    await save('Create environment');
    await row('first environment').waitFor();
    await console.go('schedules');
    await console.button('Create the first schedule').click();
    await dialog().getByLabel('Environment').selectOption({ label: 'first environment' });
    await save('Create schedule');
    await row('nightly').getByText('At 03:00, every day').waitFor();
    await row('nightly').getByRole('button', { name: 'Run now' }).click();
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}$/);
    await console.state('SUCCEEDED').waitFor();
    await console.go('secrets');
    await page.getByRole('heading', { name: 'No secrets yet' }).waitFor();
    console.expectQuiet();
  });

  it('creates and changes a schedule, shows its next times and its history, and errors beside their fields', async () => {
    const { page } = console;
    await console.go('schedules?new=1');
    await dialog().getByLabel('Name', { exact: true }).fill(ATTACK);
    await dialog().getByLabel('Times', { exact: true }).fill('61 * * * *');
    await dialog().getByLabel('Time zone').fill('Europe/Berlin');
    await dialog()
      .getByLabel('Prompt')
      .fill(`# Heading\n\n${sh('true')}`);
    await dialog().getByRole('button', { name: 'Create schedule' }).click();
    const times = dialog().getByLabel('Times', { exact: true });
    await until(async () => (await times.getAttribute('aria-invalid')) === 'true', 10_000, 'the error of the field');
    expect(await times.evaluate('document.activeElement?.getAttribute("name")')).toBe('cron');
    const described = (await times.getAttribute('aria-describedby'))?.split(' ').at(-1) ?? '';
    expect(await page.locator(`[id="${described}"]`).textContent()).toContain('minute');
    // The browser reports the status of the rejected request.
    console.errors.length = 0;
    await dialog().getByRole('button', { name: 'Every hour', exact: true }).click();
    await save('Create schedule');
    await row('onerror').getByText('Every hour').waitFor();
    const strip = page.getByRole('region', { name: 'Next 24 hours' });
    await strip.getByRole('listitem').filter({ hasText: 'onerror' }).getByText('and more after that').waitFor();
    await strip.getByRole('button', { name: '7 days' }).click();
    await page.getByRole('region', { name: 'Next 7 days' }).waitFor();
    expect(page.url()).toContain('window=week');
    await console.expectAccessibleEverywhere();

    await row('onerror').getByRole('button', { name: 'Edit' }).click();
    expect(await dialog().getByLabel('Prompt').inputValue()).toContain('# Heading');
    await dialog().getByLabel('Times', { exact: true }).fill('30 9 * * 1-5');
    await console.expectAccessibleEverywhere();
    await save('Save');
    await row('onerror').getByText('At 09:30, on Monday to Friday').waitFor();
    await row('nightly').getByRole('link', { name: 'nightly' }).click();
    await page.getByRole('heading', { name: 'nightly', level: 1 }).waitFor();
    await page.getByRole('region', { name: 'Runs' }).locator('[data-state=SUCCEEDED]').waitFor();
    await page.getByRole('link', { name: 'Environment first environment' }).waitFor();
    await console.expectAccessibleEverywhere();
    const { body } = await installation.call('GET', '/agent/schedules');
    expect(body.schedules.find(({ name }: { name: string }) => name === ATTACK)).toMatchObject({
      cron_schedule: '30 9 * * 1-5',
      timezone: 'Europe/Berlin',
      overlap_policy: 'allow',
      enabled: true,
    });
    await console.button('Delete').click();
    await page.getByRole('heading', { name: 'Schedules', level: 1 }).waitFor();
    await row('nightly').waitFor({ state: 'detached' });
    expect(await page.evaluate('window.attacked')).toBeUndefined();
    console.expectQuiet();
  });

  it('creates, changes and deletes an environment, and keeps the values that it masks', async () => {
    const { page } = console;
    await console.go('environments?new=1');
    await dialog().getByLabel('Name', { exact: true }).fill(`shop ${ATTACK}`);
    await dialog().getByLabel('Repositories').fill('acme/shop\nhttps://git.example.test/acme/tools.git main');
    await dialog().getByLabel('Command 1', { exact: true }).fill('echo one\necho two');
    await dialog().getByRole('button', { name: 'Add command' }).click();
    await dialog().getByLabel('Command 2', { exact: true }).fill('echo three');
    await dialog().getByRole('button', { name: 'Add variable' }).click();
    await dialog().getByLabel('Name of the variable').fill('NODE_ENV');
    await dialog().getByLabel('Value of the variable').fill('test');
    await save('Create environment');
    await row('shop').getByRole('link').first().click();
    await page.getByRole('heading', { name: /^shop/, level: 1 }).waitFor();
    const uid = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    await console.expectAccessibleEverywhere();
    await console.button('Edit').click();
    expect(await dialog().getByLabel('Value of NODE_ENV').inputValue()).toBe('***');
    await dialog().getByLabel('Description').fill('The shop');
    await console.expectAccessibleEverywhere();
    await save('Save');
    await page.getByText('The shop').waitFor();
    const { body } = await installation.call('GET', `/environments/${uid}`);
    expect(body.config).toMatchObject({
      description: 'The shop',
      github_repos: [{ owner: 'acme', repo: 'shop' }],
      git_repos: [{ url: 'https://git.example.test/acme/tools.git', ref: 'main' }],
      setup_commands: ['echo one\necho two', 'echo three'],
      env: { NODE_ENV: '***' },
    });
    await console.button('Delete').click();
    await page.getByRole('heading', { name: 'Environments', level: 1 }).waitFor();
    await row('first environment').waitFor();
    expect(await row('shop').count()).toBe(0);
    await console.expectAccessibleEverywhere();
    console.expectQuiet();
  });

  it('creates, replaces and deletes a secret, whose value it never shows', async () => {
    const { page } = console;
    await console.go('secrets?new=1');
    await dialog().getByLabel('Name', { exact: true }).fill('NPM_TOKEN');
    await dialog().getByLabel('Value', { exact: true }).fill('the-first-value');
    await console.expectAccessibleEverywhere();
    await save('Create secret');
    await row('NPM_TOKEN').getByRole('button', { name: 'Replace value' }).click();
    expect(await dialog().getByLabel('Value', { exact: true }).inputValue()).toBe('');
    await dialog().getByLabel('Value', { exact: true }).fill('the-second-value');
    await save('Replace value');
    await row('NPM_TOKEN').waitFor();
    expect(await page.content()).not.toMatch(/the-(first|second)-value/);
    await console.expectAccessibleEverywhere();
    await row('NPM_TOKEN').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'No secrets yet' }).waitFor();
    console.expectQuiet();
  });

  it('shows skills, agent identities, workers with the queue, and the status', async () => {
    const { page } = console;
    await installation.call('POST', '/agent/identities', { name: 'reviewer', prompt: `**Bold** ${ATTACK}` });
    await console.go('agents');
    await page.getByRole('region', { name: 'Skills' }).getByText('ships with Headrace').first().waitFor();
    await console.expectAccessibleEverywhere();
    await page.getByRole('region', { name: 'Skills' }).getByRole('link').first().click();
    await page.getByRole('article').locator('.markdown').waitFor();
    await console.expectAccessibleEverywhere();
    await console.go('agents?tab=identities');
    await row('reviewer').getByRole('link', { name: 'reviewer' }).click();
    await page.locator('.markdown strong', { hasText: 'Bold' }).waitFor();
    await console.expectAccessibleEverywhere();
    await page.getByRole('link', { name: 'Harnesses' }).click();
    await row('oz').getByText('all workers').waitFor();
    const runId = await installation.createRun(sh('true'), { title: 'waits', config: { worker_host: 'away' } });
    await console.go('workers');
    await page
      .getByRole('region', { name: 'Queue' })
      .getByRole('row')
      .filter({ hasText: 'away' })
      .getByText('waits')
      .waitFor();
    await console.expectAccessibleEverywhere();
    await installation.call('POST', `/agent/runs/${runId}/cancel`);
    await console.go('status');
    await page.getByText('The API accepts requests.').waitFor();
    await page.getByRole('region', { name: 'Versions' }).getByRole('row').filter({ hasText: 'Headrace' }).waitFor();
    await console.expectAccessibleEverywhere();
    expect(await page.evaluate('window.attacked')).toBeUndefined();
    console.expectQuiet();
  });

  it('filters the list of runs with chips by the keyboard, and creates runs with attachments and labels', async () => {
    const { page } = console;
    await console.go('runs?new=1');
    await dialog().getByLabel('Prompt').fill(sh('ls'));
    await dialog().getByLabel('Title').fill('with a file');
    await dialog().getByLabel('Labels').fill('team=web\nbranch=a=b');
    await dialog()
      .getByLabel('Attachments')
      .setInputFiles({ name: "it's.txt", mimeType: 'text/plain', buffer: Buffer.from('content') });
    await dialog().getByRole('button', { name: 'As curl' }).click();
    const curl = (await dialog().locator('pre').textContent()) ?? '';
    expect(curl).toContain('"metadata":{"team":"web","branch":"a=b"}');
    expect(curl).toContain(`"$(base64 < 'it'\\''s.txt' | tr -d '\\n')"`);
    await console.expectAccessibleEverywhere();
    await dialog().getByRole('button', { name: 'Create run' }).click();
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}$/);
    const runId = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    expect((await installation.run(runId)).metadata).toMatchObject({ team: 'web', branch: 'a=b' });

    await console.go('runs');
    const rows = page.getByRole('list', { name: 'Runs' }).getByRole('listitem');
    await page.getByRole('button', { name: 'Add filter' }).focus();
    await page.keyboard.press('Enter');
    await until(
      async () => (await page.evaluate('document.activeElement?.getAttribute("aria-label")')) === 'Filter by',
      5_000,
      'the focus',
    );
    await page.keyboard.type('Label');
    await page.keyboard.press('Tab');
    await page.keyboard.type('team=web');
    await page.keyboard.press('Enter');
    await until(async () => (await rows.count()) === 1, 10_000, 'the run with the label');
    await page.getByRole('button', { name: 'Add filter' }).click();
    await page.getByLabel('Filter by').selectOption('Environment');
    await page.getByLabel('Environment', { exact: true }).selectOption({ label: 'first environment' });
    await console.expectAccessibleEverywhere();
    await console.button('Add').click();
    await page.getByRole('heading', { name: 'No run matches' }).waitFor();
    await page.reload();
    await console.button('Remove the filter Environment: first environment').click();
    await until(async () => (await rows.count()) === 1, 10_000, 'the run with the label');
    expect(new URL(page.url()).search).toBe('?label=team%3Dweb');
    await page.keyboard.press('Escape');
    await console.button('Remove the filter Label: team=web').click();
    await until(async () => (await rows.count()) > 1, 10_000, 'all runs');
    console.expectQuiet();
  });

  it.runIf(isLong)('loses no input and no focus while 200 rows change', async () => {
    const { page } = console;
    const [template] = (await installation.call('GET', '/agent/runs?limit=1')).body.runs;
    let answers = 0;
    await page.route('**/api/v1/agent/runs?*', async (route) => {
      answers += 1;
      const runs = Array.from({ length: 200 }, (_, index) => ({
        ...template,
        run_id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
        title: `live ${index}`,
        state: (index + answers) % 2 === 0 ? 'INPROGRESS' : 'QUEUED',
        updated_at: new Date(Date.parse(template.updated_at) + answers * 1000).toISOString(),
      }));
      await route.fulfill({ json: { runs, page_info: { has_next_page: false } } });
    });
    await console.go('runs');
    const box = page.getByLabel('Select live 199');
    await box.check();
    await box.focus();
    const before = answers;
    await until(() => Promise.resolve(answers >= before + 2), 10_000, 'two more answers');
    expect(await page.evaluate('document.activeElement?.getAttribute("aria-label")')).toBe('Select live 199');
    expect(await box.isChecked()).toBe(true);
    const text = 'everykeyofalongtextreachesthefieldwhiletherowschange';
    await page.getByLabel('Search runs').pressSequentially(text, { delay: 20 });
    expect(await page.getByLabel('Search runs').inputValue()).toBe(text);
    expect(await page.getByRole('list', { name: 'Runs' }).getByRole('listitem').count()).toBe(200);
    await page.unroute('**/api/v1/agent/runs?*');
    console.expectQuiet();
  });

  it('lists what needs a person in the inbox, and opens exactly one request from a link, also after its decision', async () => {
    const { page } = console;
    const prompt = `\`\`\`ask title="Push to main"\n\`\`\`\n${sh('echo pushed')}`;
    const runId = await installation.createRun(prompt, { title: 'Release', config: { permission_policy: 'ask' } });
    await installation.waitFor(runId, ['BLOCKED']);
    await console.go('inbox');
    const request = page.getByRole('region', { name: 'Permission request' });
    await request.getByText('Push to main').waitFor();
    await request.getByText('“Always” allows ').waitFor();
    // The request says more than the blocked run.
    expect(await page.getByRole('region', { name: 'Blocked run' }).count()).toBe(0);
    await request.getByRole('link', { name: 'Link to this request' }).click();
    await page.waitForURL(/inbox\?item=/);
    await request.getByRole('button', { name: 'Deny' }).waitFor();
    await console.expectAccessibleEverywhere();
    // Another person decides.
    const { body } = await installation.call('GET', `/agent/runs/${runId}/approvals`);
    const [{ approval_id: id }] = body.approvals;
    await installation.call('POST', `/agent/runs/${runId}/approvals/${id}`, { decision: 'allow', note: 'It is fine.' });
    await page.getByText('Allowed by Owner').waitFor();
    await page.reload();
    await page.getByText('It is fine.').waitFor();
    expect(await page.getByRole('button', { name: 'Deny' }).count()).toBe(0);

    const { body: environment } = await installation.call('POST', '/environments', {
      config: { name: 'deleted soon' },
    });
    await installation.call('POST', '/agent/schedules', {
      name: 'without an environment',
      cron_schedule: '* * * * *',
      prompt: sh('true'),
      enabled: true,
      agent_config: { environment_id: environment.uid },
    });
    await installation.call('DELETE', `/environments/${environment.uid}`);
    await page.route('**/api/v1/agent/schedules', async (route) => {
      const response = await route.fetch();
      const { schedules } = (await response.json()) as { schedules: { name: string }[] };
      // The due time itself is up to a minute away.
      const failed = schedules.map((schedule) =>
        schedule.name === 'without an environment'
          ? { ...schedule, last_spawn_error: 'The environment is gone.' }
          : schedule,
      );
      await route.fulfill({ json: { schedules: failed } });
    });
    await page.getByRole('link', { name: 'Show the whole inbox' }).click();
    await console.go('inbox');
    const schedule = page.getByRole('region', { name: 'Schedule' });
    await schedule.getByText('The environment is gone.').waitFor();
    await until(async () => (await page.title()).startsWith('(1) '), 10_000, 'the count in the title');
    await console.expectAccessibleEverywhere();
    await schedule.getByRole('link', { name: 'without an environment' }).click();
    await page.getByRole('heading', { name: 'without an environment', level: 1 }).waitFor();
    await page.unroute('**/api/v1/agent/schedules');
    await console.button('Delete').click();
    await page.getByRole('heading', { name: 'Schedules', level: 1 }).waitFor();
    console.expectQuiet();
  });

  it('notifies in the browser only after a click', async () => {
    const context = await browser.newContext({ permissions: ['notifications'] });
    const { body } = await installation.call('POST', '/login-links', {});
    const page = await context.newPage();
    await page.addInitScript(`
      window.shown = [];
      window.Notification = class extends EventTarget {
        static permission = 'default';
        static requestPermission() { window.asked = true; Notification.permission = 'granted'; return Promise.resolve('granted'); }
        constructor(title, options) { super(); window.shown.push(title + ' ' + options.tag); }
      };
      Document.prototype.hasFocus = () => false;
    `);
    await page.goto(body.url);
    await page.getByRole('button', { name: 'Sign in with this link' }).click();
    await page.waitForURL(/\/runs$/);
    await page.goto(`${console.origin}/console/inbox`);
    await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
    expect(await page.evaluate('window.asked')).toBeUndefined();
    await page.getByRole('button', { name: 'Notify me in this browser' }).click();
    await page.getByRole('button', { name: 'Stop notifications of this browser' }).waitFor();
    // Chromium says that a page of a headless browser is visible: the notification is for a page without the focus.
    await page.evaluate('Object.defineProperty(document, "hidden", { get: () => true })');
    const prompt = `\`\`\`ask title="Deploy"\n\`\`\`\n${sh('true')}`;
    const runId = await installation.createRun(prompt, { config: { permission_policy: 'ask' } });
    await until(
      async () =>
        (await page.evaluate<string[]>('window.shown')).some((text) => text.includes(`Deploy inbox?item=${runId}/`)),
      20_000,
      'the notification',
    );
    await installation.call('POST', `/agent/runs/${runId}/cancel`);
    await context.close();
  });

  it('shows all pages of a list, and filters the audit log by actor, target and time', async () => {
    const { page } = console;
    for (let index = 0; index < 3; index += 1)
      await installation.call('POST', '/service-accounts', { name: `account ${index}` });
    await page.route('**/api/v1/service-accounts*', async (route) => {
      const url = new URL(route.request().url());
      url.searchParams.set('limit', '1');
      await route.continue({ url: url.href });
    });
    await console.go('team?tab=service-accounts');
    const rows = page.getByRole('region', { name: 'Service accounts' }).getByRole('row');
    const { body } = await installation.call('GET', '/service-accounts');
    for (let count = 1; count < body.service_accounts.length; count += 1) {
      await until(async () => (await rows.count()) === count + 1, 10_000, `${count} accounts`);
      await console.button('Show more').click();
    }
    await until(async () => (await rows.count()) === body.service_accounts.length + 1, 10_000, 'all accounts');
    expect(await console.button('Show more').count()).toBe(0);
    await page.unroute('**/api/v1/service-accounts*');

    await console.go('team?tab=audit-log');
    await row('account 1').getByRole('button', { name: 'account 1' }).click();
    await row('account 2').waitFor({ state: 'detached' });
    await row('account 1').waitFor();
    expect(page.url()).toContain('target=');
    await console.button('Remove the filters').click();
    await row('account 2').waitFor();
    await page.getByLabel('After').fill('2099-01-01T00:00');
    await console.button('Filter').click();
    await page.getByRole('heading', { name: 'No entry matches' }).waitFor();
    await console.button('Remove the filters').click();
    await page.getByLabel('Entries').selectOption('installation');
    await row('account 2').waitFor({ state: 'detached' });
    expect(page.url()).toContain('scope=installation');
    const [file] = await Promise.all([page.waitForEvent('download'), console.button('Export').click()]);
    expect(file.suggestedFilename()).toBe('audit-log-of-the-installation.ndjson');
    console.expectQuiet();
  });

  it('lists the browsers of a user, and signs one out', async () => {
    const { page } = console;
    const other = await ConsolePage.open(browser, installation);
    await console.go('team?tab=sessions');
    await page.getByRole('main').getByRole('button', { name: 'Sign out' }).first().click();
    await other.go('runs');
    await other.page.getByRole('heading', { name: 'Sign in to Headrace' }).waitFor();
    await other.close();
    console.expectQuiet();
  });

  it('hides from a viewer what the role does not permit', async () => {
    const { body: user } = await installation.call('POST', '/users', { email: 'viewer@example.test' });
    await installation.call('PUT', `/members/${user.uid}`, { role: 'viewer' });
    const { body: link } = await installation.call('POST', '/login-links', { user_uid: user.uid });
    const page = await (await browser.newContext()).newPage();
    await page.goto(link.url);
    await page.getByRole('button', { name: 'Sign in with this link' }).click();
    await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
    const main = page.getByRole('main');
    for (const [path, heading] of [
      ['schedules', 'Schedules'],
      ['secrets', 'Secrets'],
    ] as const) {
      await page.goto(`${console.origin}/console/${path}`);
      await main.getByRole('heading', { name: heading, level: 1 }).waitFor();
      await main.getByText('Loading …').waitFor({ state: 'detached' });
      expect(await main.getByRole('button', { name: /New|Delete|Edit|Run now/ }).count()).toBe(0);
    }
    await page.goto(`${console.origin}/console/environments`);
    await main.getByRole('link', { name: 'first environment' }).click();
    await main.getByRole('heading', { name: 'first environment', level: 1 }).waitFor();
    expect(await main.getByRole('button', { name: /Delete|Edit/ }).count()).toBe(0);
    await page.context().close();
  });
});
