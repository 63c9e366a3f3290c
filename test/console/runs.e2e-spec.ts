import { rmSync } from 'node:fs';
import type { Browser, Locator } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { until } from '#testing';
import { NO_BROWSER, startBrowser } from '../support/browser.js';
import { Installation, type Program } from '../support/installation.js';
import { createScriptedHarness } from '../support/scripted-harness.js';
import { isLong } from '../support/long-tests.js';
import { ConsolePage } from './console-page.js';

const PUSH = { ask: { title: 'Push', kind: 'execute', name: 'Bash', input: { command: 'git push' } } };

const sh = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;

describe.skipIf(NO_BROWSER !== null)('the console', { timeout: 120_000 }, () => {
  let installation: Installation;
  let server: Program;
  let browser: Browser;
  let directory: string;
  const pages: ConsolePage[] = [];

  beforeAll(async () => {
    const harness = createScriptedHarness();
    ({ directory } = harness);
    installation = await Installation.create({ API_RATE_PER_MINUTE: '0', HARNESSES_FILE: harness.file });
    [server, browser] = await Promise.all([installation.up(), startBrowser()]);
  });
  // An open page follows the runs of the other tests.
  afterEach(() => Promise.all(pages.splice(0).map((page) => page.close())));
  afterAll(async () => {
    await browser.close();
    await server.stop();
    installation.remove();
    rmSync(directory, { recursive: true, force: true });
  });
  const open = async (options = {}): Promise<ConsolePage> => {
    const page = await ConsolePage.open(browser, installation, options);
    pages.push(page);
    return page;
  };

  it('opens with the link that the start has printed, once', async () => {
    const link = /http\S+\/console\/sign-in#code=\S+/.exec(server.text)?.[0] ?? '';
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(link);
    await page.getByRole('button', { name: 'Sign in with this link' }).click();
    await page.waitForURL(/\/console\/runs$/);
    await page.getByRole('heading', { name: 'No runs yet' }).waitFor();
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/' });
    const other = await (await browser.newContext()).newPage();
    await other.goto(link);
    await other.getByRole('button', { name: 'Sign in with this link' }).click();
    await other.getByRole('alert').getByText('was used already').waitFor();
    // The address bar has no code any more.
    expect(other.url()).not.toContain('code=');
    await other.context().close();
    await context.close();
  });

  it('creates a run, shows it live, continues it and shows its changes, without an error or another host', async () => {
    const console = await open();
    const { page } = console;
    const runId = await console.createRun(`Write a file.\n${sh('echo one > notes.txt; cat notes.txt')}`);
    await page.getByRole('heading', { name: 'Write a file.', level: 1 }).waitFor();
    await console.state('SUCCEEDED').waitFor();
    await page.locator('[data-action=run_command][data-state=completed]').click();
    await page.locator('details[open] pre').getByText('one', { exact: true }).waitFor();
    await page.getByLabel('Message to the agent').fill(sh('echo two >> notes.txt; echo "second turn"'));
    await console.button('Send').click();
    await page.locator('[data-action=run_command]').nth(1).waitFor();
    await until(
      async () => (await installation.run(runId)).state === 'SUCCEEDED',
      20_000,
      'the end of the second turn',
    );
    await console.state('SUCCEEDED').waitFor();
    await page.getByRole('link', { name: 'Changes' }).click();
    await page.locator('.diff .added', { hasText: '+two' }).waitFor();
    expect(page.url()).toContain('tab=changes');
    await page.getByRole('link', { name: 'Timeline' }).click();
    await page.getByText('run created').waitFor();
    await page.reload();
    await page.getByText('run created').waitFor();
    console.expectQuiet();
  });

  it('shows a new run and its states in the list without loading it again, and cancels and repeats selected runs', async () => {
    const console = await open();
    const { page } = console;
    const runId = await installation.createRun(sh('sleep 120'), { title: 'a slow run' });
    const row = page.getByRole('listitem').filter({ hasText: 'a slow run' });
    await row.locator('[data-state=INPROGRESS]').waitFor();
    await row.getByRole('checkbox').check();
    await page.getByRole('region', { name: 'Selected runs' }).getByRole('button', { name: 'Cancel' }).click();
    await row.locator('[data-state=CANCELLED]').waitFor();
    await row.getByRole('checkbox').check();
    await page.getByRole('region', { name: 'Selected runs' }).getByRole('button', { name: 'Rerun' }).click();
    await until(async () => (await row.count()) === 2, 20_000, 'the second run');
    const { body } = await installation.call('GET', `/agent/runs?rerun_of=${runId}`);
    for (const { run_id: id } of body.runs) await installation.call('POST', `/agent/runs/${id}/cancel`);
    console.expectQuiet();
  });

  it('finds runs while the user types, and has search and states in the URL', async () => {
    await installation.createRun(sh('true'), { title: 'refactor the parser' });
    await installation.createRun(sh('true'), { title: 'update the documentation' });
    const console = await open();
    const { page } = console;
    await page.getByLabel('Search runs').pressSequentially('parser');
    const rows = page.getByRole('list', { name: 'Runs' }).getByRole('listitem');
    await until(async () => (await rows.count()) === 1, 10_000, 'one row');
    await page.getByRole('button', { name: 'Failed' }).click();
    await page.getByRole('heading', { name: 'No run matches' }).waitFor();
    expect(new URL(page.url()).search).toBe('?q=parser&state=FAILED');
    await page.reload();
    await page.getByRole('heading', { name: 'No run matches' }).waitFor();
    await console.button('Remove all filters').click();
    await page.getByRole('listitem').filter({ hasText: 'update the documentation' }).waitFor();
    console.expectQuiet();
  });

  it('answers a permission request, also when another person was faster', async () => {
    const prompt = JSON.stringify([PUSH]);
    const ask = { config: { harness: { type: 'scripted' }, permission_policy: 'ask' } };
    const first = await installation.createRun(prompt, ask);
    const console = await open();
    await console.go(`runs/${first}`);
    await console.button('Allow').click();
    await console.state('SUCCEEDED').waitFor();
    const second = await installation.createRun(prompt, ask);
    const { page } = console;
    await console.go(`runs/${second}`);
    await console.button('Deny').waitFor();
    const { body } = await installation.call('GET', `/agent/runs/${second}/approvals`);
    const [pending] = body.approvals;
    const path = `/agent/runs/${second}/approvals/${pending.approval_id}`;
    // The other person decides between the click and the arrival of its request.
    await page.route(
      (url) => url.pathname.endsWith(path),
      async (route) => {
        await installation.call('POST', path, { decision: 'allow' });
        await route.continue();
      },
    );
    const rejection = page.waitForResponse((response) => response.url().endsWith(path));
    await console.button('Deny').click();
    expect((await rejection).status()).toBe(409);
    await page.getByRole('main').getByRole('alert').getByText('was decided before').waitFor();
    await console.state('SUCCEEDED').waitFor();
    await until(async () => (await console.button('Deny').count()) === 0, 10_000, 'the end of the request');
    expect((await installation.call('GET', `/agent/runs/${second}/approvals`)).body.approvals[0].state).toBe('allowed');
    await page.unrouteAll({ behavior: 'wait' });
    console.expectRejected(409);
    console.expectQuiet();
  });

  it('offers to allow only an input that is shown', async () => {
    const input = { command: `git push ${'x'.repeat(25_000)}; curl attacker.example` };
    const prompt = JSON.stringify([{ ask: { ...PUSH.ask, title: 'Push\u3164\u{e0041}', input } }]);
    const ask = { config: { harness: { type: 'scripted' }, permission_policy: 'ask' } };
    const runId = await installation.createRun(prompt, ask);
    const console = await open();
    await console.go(`runs/${runId}`);
    const request = console.page.getByRole('region', { name: 'Permission request' });
    await request.getByText('Push\\u3164\\u{e0041}').waitFor();
    await request.getByRole('button', { name: 'Deny' }).waitFor();
    expect(await request.getByRole('button', { name: /allow/i }).count()).toBe(0);
    await request.getByRole('link', { name: 'Show all of the input' }).click();
    await request.getByText('curl attacker.example').waitFor();
    await request.getByRole('button', { name: 'Allow', exact: true }).click();
    await request.getByText('Allowed by').waitFor();
    console.expectQuiet();
  });

  it('counts and answers what waits in all runs in the inbox', async () => {
    const ask = { config: { harness: { type: 'scripted' }, permission_policy: 'ask' }, title: 'Release' };
    const runId = await installation.createRun(JSON.stringify([PUSH]), ask);
    const console = await open();
    const { page } = console;
    await page
      .getByRole('link', { name: /^Inbox/ })
      .getByText('1')
      .waitFor();
    await until(async () => (await page.title()).startsWith('(1) '), 10_000, 'the count in the title');
    await page.getByRole('link', { name: /^Inbox/ }).click();
    const request = page.getByRole('region', { name: 'Permission request' }).filter({ hasText: 'Release' });
    await request.getByRole('button', { name: 'Deny' }).click();
    await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
    await page.getByRole('status').filter({ hasText: 'Denied: Push. Show the run' }).waitFor();
    expect((await installation.call('GET', `/agent/runs/${runId}/approvals`)).body.approvals[0].state).toBe('denied');
    await until(async () => !(await page.title()).startsWith('('), 10_000, 'no count in the title');
    console.expectQuiet();
  });

  it('answers questions of agents, by an option at the run and by a text in the inbox', async () => {
    const ask = (input: object): Promise<string> =>
      installation.createRun(`\`\`\`tool name=ask_person\n${JSON.stringify(input)}\n\`\`\``);
    const first = await ask({ question: 'Which database?', options: ['PostgreSQL', 'SQLite'] });
    const console = await open();
    const { page } = console;
    await console.go(`runs/${first}`);
    const question = page.getByRole('region', { name: 'Question', exact: true });
    await question.getByText('Which database?').waitFor();
    await question.getByRole('button', { name: 'Answer' }).click();
    await question.getByRole('alert').getByText('is required without `text`').waitFor();
    await question.getByRole('radio', { name: 'SQLite' }).check();
    await question.getByRole('button', { name: 'Answer' }).click();
    await console.state('SUCCEEDED').waitFor();
    await page.getByText('Question answered, by user: SQLite').waitFor();
    await page.getByText('Option: SQLite').first().waitFor();
    await until(async () => (await question.count()) === 0, 10_000, 'the end of the question');

    const second = await ask({ question: 'Which version?' });
    await page.getByRole('link', { name: /^Inbox/ }).click();
    await question.getByText('the agent continues without an answer').waitFor();
    await question.getByLabel('Text').fill('Version 18.');
    await question.getByRole('button', { name: 'Answer' }).click();
    await page.getByRole('status').filter({ hasText: 'Answered: Which version?. Show the run' }).waitFor();
    const [approval] = (await installation.call('GET', `/agent/runs/${second}/approvals`)).body.approvals;
    await console.go(`inbox?item=${second}/${approval.approval_id}`);
    await question.getByText(/^Answered by .+: Version 18\.$/).waitFor();
    console.expectRejected(400);
    console.expectQuiet();
  });

  it('keeps what it shows while the server restarts, and continues without a duplicate', async () => {
    const console = await open();
    const { page } = console;
    const runId = await console.createRun(sh('echo before'));
    await console.state('SUCCEEDED').waitFor();
    await page.getByRole('link', { name: 'Timeline' }).click();
    const count = () => page.locator('.events > [data-event]').count();
    const continued: (string | undefined)[] = [];
    page.on('request', (request) => {
      if (request.headers().accept === 'text/event-stream') continued.push(request.headers()['last-event-id']);
    });
    // As a crash: a server that stops in order ends the session, and with it the stream.
    await server.stop('SIGKILL');
    await page.getByText('The connection was lost').waitFor();
    expect(await count()).toBeGreaterThan(3);
    server = await installation.up();
    await page.getByText('The connection was lost').waitFor({ state: 'detached' });
    const { body } = await installation.call('GET', `/agent/runs/${runId}/timeline`);
    await until(async () => (await count()) === body.events.length, 10_000, 'each event once');
    expect(continued.length).toBeGreaterThan(0);
    expect(continued).not.toContain(undefined);
    expect(console.foreign).toEqual([]);
  });

  it('signs a browser out at once when its session is deleted, in all tabs', async () => {
    const console = await open();
    const second = await console.page.context().newPage();
    await second.goto(`${console.origin}/console/runs`);
    await second.getByRole('heading', { name: 'Runs' }).waitFor();
    await console.button('Sign out').click();
    for (const page of [console.page, second])
      await page.getByRole('heading', { name: 'Sign in to Headrace' }).waitFor();
    await second.getByLabel('Token').fill('nonsense');
    await second.getByRole('button', { name: 'Sign in' }).click();
    await second.getByRole('alert').waitFor();
    await second.getByLabel('Token').fill(installation.connection.token);
    await second.getByRole('button', { name: 'Sign in' }).click();
    await second.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
  });

  it.runIf(isLong)('shows untrusted text as text', async () => {
    const attacks = [
      '<img src=x onerror="window.attacked=1">',
      '<script>window.attacked=1</script>',
      '[link](javascript:window.attacked=1) [data](data:text/html,<script>window.attacked=1</script>)',
      '![image](https://attacker.example/track.png)',
      '<svg onload=window.attacked=1>',
      '\u202egnirts desrever\u202c',
      '[![x](javascript:window.attacked=1)](javascript:window.attacked=1)',
      `${'>'.repeat(300)} deep ${'- '.repeat(300)}`,
      'x'.repeat(20_000),
    ];
    const prompt = `${attacks.join('\n\n')}\n\n${sh('printf "\\033[31mred\\033[0m <b>bold</b>"')}`;
    const runId = await installation.createRun(prompt, { title: attacks[0] });
    await installation.waitFor(runId, ['SUCCEEDED', 'FAILED']);
    const console = await open({ viewport: { width: 360, height: 740 } });
    const { page } = console;
    await page.getByText('<img src=x onerror').first().waitFor();
    for (const tab of ['', '?tab=timeline', '?tab=changes', '?tab=details']) {
      await console.go(`runs/${runId}${tab}`);
      await page.getByRole('heading', { name: '<img src=x onerror="window.attacked=1">', level: 1 }).waitFor();
      await console.expectAccessible();
    }
    await console.go(`runs/${runId}`);
    await page.locator('article.user').waitFor();
    expect(await page.evaluate('window.attacked')).toBeUndefined();
    expect(await page.locator('main img, main script, main svg').count()).toBe(0);
    for (const href of await page
      .locator('main a')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href'))))
      expect(href).not.toMatch(/^(javascript|data):/i);
    console.expectQuiet();
  });

  it('is accessible in both themes, narrow and wide', { timeout: 120_000 }, async () => {
    const console = await open();
    // The tests of the other views check these where they have content.
    const runId = await installation.createRun(`# Title\n\n- item\n\n${sh('echo done > file')}`);
    await installation.waitFor(runId, ['SUCCEEDED']);
    for (const path of [
      ...['runs', 'runs?q=nothing-at-all', `runs/${runId}`, `runs/${runId}?tab=changes`, 'nowhere'],
      ...(isLong ? [`runs/${runId}?tab=timeline`] : []),
      ...['team', 'team?tab=tokens', 'team?tab=sessions', 'team?tab=service-accounts', 'team?tab=audit-log'],
    ]) {
      await console.go(path);
      await console.loaded();
      await console.expectAccessibleEverywhere();
    }
    console.expectQuiet();
    await console.button('Sign out').click();
    await console.page.getByRole('heading', { name: 'Sign in to Headrace' }).waitFor();
    await console.expectAccessibleEverywhere();
  });

  it('is used by the keyboard alone', async () => {
    const console = await open();
    const { page } = console;
    const focused = () =>
      page.evaluate('document.activeElement?.textContent || document.activeElement?.getAttribute("aria-label")');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to the content');
    const tabTo = async (wanted: Locator): Promise<void> => {
      for (let press = 0; press < 100; press += 1) {
        if (await wanted.evaluate((element) => element === element.ownerDocument.activeElement)) return;
        await page.keyboard.press('Tab');
      }
      throw new Error('The Tab key does not reach the element.');
    };
    await tabTo(console.button('New run'));
    await page.keyboard.press('Enter');
    await page.getByLabel('Prompt').waitFor();
    await tabTo(page.getByLabel('Prompt'));
    await page.keyboard.type(sh('echo typed'));
    expect(await page.getByLabel('Prompt').inputValue()).toContain('echo typed');
    await page.keyboard.press('Escape');
    await page.getByLabel('Prompt').waitFor({ state: 'detached' });
    await tabTo(page.getByRole('list', { name: 'Runs' }).getByRole('link').first());
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}$/);
    await page.goBack();
    await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
  });
});
