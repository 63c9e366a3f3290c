import { rmSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { until } from '#testing';
import { NO_BROWSER, startBrowser } from '../support/browser.js';
import { Installation, type Program } from '../support/installation.js';
import { createScriptedHarness } from '../support/scripted-harness.js';
import { ConsolePage } from './console-page.js';

const sh = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;
const update = (sessionUpdate: string, fields: object): object => ({ update: { sessionUpdate, ...fields } });
const call = (toolCallId: string, fields: object): object =>
  update('tool_call', { toolCallId, status: 'completed', ...fields });

/** A turn with everything that an agent can report. */
const STORY = [
  update('plan', {
    entries: [
      { content: 'Read the parser', status: 'completed', priority: 'high' },
      { content: 'Fix the <b>parser</b>', status: 'in_progress', priority: 'high' },
      { content: 'Run the tests', status: 'pending', priority: 'low' },
    ],
  }),
  update('agent_thought_chunk', { content: { type: 'text', text: 'The comma is missing.' } }),
  call('edit-1', {
    title: 'Edit parser.ts',
    kind: 'edit',
    content: [{ type: 'diff', path: 'src/parser.ts', oldText: 'one\ntwo\nthree\n', newText: 'one\n2\nthree\n' }],
  }),
  call('task-1', { title: 'Explore', kind: 'think', name: 'Task', rawInput: { description: 'Find the bug' } }),
  update('tool_call', {
    toolCallId: 'inner-1',
    title: 'needle in the sub-agent',
    kind: 'search',
    status: 'failed',
    rawInput: { query: 'needle in the sub-agent' },
    _meta: { claudeCode: { parentToolUseId: 'task-1' } },
  }),
  { say: 'I have changed **one** line.' },
];

/** The budget of each view; this one has the most. `npm run bench -- console-views` measures all of them. */
const MAX_SCRIPT_BYTES = 60_000;
const SCRIPT_BYTES = `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js'))
  .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`;

describe.skipIf(NO_BROWSER !== null)('the page of a run', { timeout: 120_000 }, () => {
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
  const scripted = (steps: readonly object[], fields = {}): Promise<string> =>
    installation.createRun(JSON.stringify(steps), { config: { harness: { type: 'scripted' } }, ...fields });

  it('shows one history in three densities, and keeps the selection and the search', async () => {
    const runId = await scripted(STORY, { title: 'a story' });
    const console = await open();
    const { page } = console;
    await page.goto(`${console.origin}/runs/${runId}`);
    await page.waitForURL(`**/console/runs/${runId}`);
    await console.state('SUCCEEDED').waitFor();
    const plan = page.getByRole('group', { name: 'Plan' });
    await plan.getByText('1 of 3').waitFor();
    expect(await page.evaluate(SCRIPT_BYTES)).toBeLessThanOrEqual(MAX_SCRIPT_BYTES);
    await plan.getByText('Fix the <b>parser</b>').waitFor();
    await page.getByText('Thought The comma is missing.').waitFor();
    await page.locator('[data-action=edit_files] summary').click();
    await page.locator('.diff .removed', { hasText: '-two' }).waitFor();
    await page.locator('.diff .added', { hasText: '+2' }).waitFor();
    // The failed action is within a sub-agent that is closed.
    await page.keyboard.press('/');
    await page.keyboard.type('needle in');
    await page.getByText('2 entries').waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await page.getByText('2 of 2').waitFor();
    await page.locator('.selected [data-action=search_files][data-state=failed]').waitFor();
    expect(new URL(page.url()).searchParams.get('find')).toBe('needle in');
    const selected = new URL(page.url()).searchParams.get('at') ?? '';
    await page.getByRole('link', { name: 'Timeline' }).click();
    const events = page.getByRole('list', { name: 'History' });
    await events.locator('[data-event=run_done]').waitFor();
    await page.getByText('2 entries').waitFor();
    await page.getByRole('link', { name: 'Raw events' }).click();
    await events.locator('summary', { hasText: 'conversation' }).last().click();
    await events.locator('pre', { hasText: '"message_index"' }).waitFor();
    const parameters = new URL(page.url()).searchParams;
    expect([parameters.get('tab'), parameters.get('find'), parameters.get('at')]).toEqual([
      'raw',
      'needle in',
      selected,
    ]);
    // A link to an entry opens what it is in.
    await console.go(`runs/${runId}?at=${selected}`);
    await page.locator('.selected [data-action=search_files]').waitFor();
    for (const part of ['', '?tab=timeline', '?tab=raw', '?tab=details']) {
      await console.go(`runs/${runId}${part}`);
      await page.getByRole('heading', { name: 'a story', level: 1 }).waitFor();
      await console.expectAccessible();
    }
    console.expectQuiet();
  });

  it('shows colours of outputs, and removes everything else that a program sends to a terminal', async () => {
    const bomb = 'for i in $(seq 3000); do printf "\\033[3$((i % 8))mx"; done';
    const runId = await installation.createRun(
      sh(
        `printf '\\033[31mred\\033[0m \\033]8;;javascript:alert(1)\\033\\\\link\\033]8;;\\033\\\\ \\033[2J end\\n'; ${bomb}`,
      ),
    );
    await installation.waitFor(runId, ['SUCCEEDED']);
    const console = await open({ viewport: { width: 360, height: 740 } });
    const { page } = console;
    await console.go(`runs/${runId}`);
    await page.locator('[data-action=run_command] summary').click();
    const output = page.locator('[data-action=run_command] pre').last();
    await output.locator('.ansi-1', { hasText: 'red' }).waitFor();
    expect(await output.textContent()).toContain('red link  end');
    expect(await output.locator('span').count()).toBeLessThanOrEqual(1000);
    expect(await page.locator('main a[href^=javascript]').count()).toBe(0);
    await console.expectAccessible();
    console.expectQuiet();
  });

  it('shows the set-up that failed, what to do, and the first error', async () => {
    const { body } = await installation.call('POST', '/environments', {
      config: {
        name: 'broken',
        setup_commands: ['echo prepared', 'printf "\\033[31mno such package\\033[0m"; exit 7'],
        failure_session_retention_minutes: 1,
      },
    });
    const runId = await installation.createRun(sh('true'), { config: { environment_id: body.uid } });
    await installation.waitFor(runId, ['FAILED']);
    const console = await open();
    const { page } = console;
    await console.go(`runs/${runId}`);
    // The output of the failed command is open.
    await page.locator('[data-setup=failed] .ansi-1', { hasText: 'no such package' }).waitFor();
    // The prompt is there although no agent has begun, and the page is at its top, where the reason is.
    await page.getByRole('article', { name: 'Prompt' }).locator('pre', { hasText: 'true' }).waitFor();
    expect(await page.evaluate('scrollY')).toBe(0);
    await page.locator('.facts').getByRole('link', { name: 'broken' }).waitFor();
    const outcome = page.getByRole('region', { name: 'Why the run failed' });
    await outcome.getByText('correct the environment').waitFor();
    expect(await outcome.getByRole('link', { name: 'About' }).getAttribute('href')).toMatch(
      /\/problems\/environment_setup_failed$/,
    );
    await console.button('First error').click();
    await page.locator('.selected [data-setup=failed]').waitFor();
    await console.button('Open debug window').click();
    expect(await page.evaluate('document.activeElement?.id')).toBe('followup');
    await page.getByLabel('Message to the debug agent').fill(sh('cat /dev/null; echo looked'));
    await console.button('Send').click();
    await page.locator('[data-action=run_command][data-state=completed]').waitFor();
    console.expectQuiet();
  });

  it('sends a follow-up with a file, forks after a turn, and copies requests', async () => {
    const runId = await installation.createRun(sh('mkdir -p src; echo one > src/a.txt; seq 500 > long.txt'), {
      title: 'files',
    });
    await installation.waitFor(runId, ['SUCCEEDED']);
    const console = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
    const { page } = console;
    await console.go(`runs/${runId}`);
    await page
      .getByLabel('Attachments')
      .setInputFiles({ name: 'notes <b>.txt', mimeType: 'text/plain', buffer: Buffer.from('from the browser') });
    await page.getByRole('button', { name: 'Remove notes <b>.txt' }).waitFor();
    await page.getByLabel('Message to the agent').fill(sh('cat "$HEADRACE_ATTACHMENTS_DIR"/notes*'));
    const clipboard = () => page.evaluate<string>('navigator.clipboard.readText()');
    await console.button('Copy as curl').click();
    await until(async () => (await clipboard()).includes(`/agent/runs/${runId}/followups`), 5_000, 'the request');
    await console.button('Send').click();
    await page.getByText('Attachments').last().waitFor();
    const answer = page.locator('[data-action=run_command][data-state=completed]').nth(1);
    await answer.locator('summary').click();
    await answer.locator('pre', { hasText: 'from the browser' }).waitFor();
    await until(async () => (await installation.run(runId)).state === 'SUCCEEDED', 20_000, 'the end of the turn');
    await console.button('As curl').click();
    await until(async () => (await clipboard()).includes('"title":"files"'), 5_000, 'the request that creates it');
    await console.button('Share').click();
    await until(async () => (await clipboard()) === `${console.origin}/console/runs/${runId}`, 5_000, 'the link');

    await page.getByRole('link', { name: 'Changes' }).click();
    const files = page.getByRole('navigation', { name: 'Changed files' });
    await files.getByText('src/').waitFor();
    // A long difference is closed until somebody opens it.
    const long = page.locator('[data-file="long.txt"]');
    expect(await long.getAttribute('open')).toBeNull();
    await files.getByRole('button', { name: /long.txt/ }).click();
    await long.locator('.diff .added', { hasText: '+1' }).first().waitFor();
    expect(new URL(page.url()).searchParams.get('file')).toBe('long.txt');
    const small = page.locator('[data-file="src/a.txt"]');
    await small.getByRole('button', { name: 'Show the file' }).click();
    await small.getByRole('group', { name: 'Content of src/a.txt' }).getByText('one').waitFor();
    await small.getByRole('button', { name: 'Copy path' }).click();
    await until(async () => (await clipboard()) === 'src/a.txt', 5_000, 'the path');
    await console.expectAccessible();

    await console.go(`runs/${runId}`);
    await console.button('Fork after this turn').first().click();
    await page.waitForURL((url) => /\/runs\/[0-9a-f-]{36}$/.test(url.pathname) && !url.pathname.endsWith(runId));
    await page.getByRole('link', { name: 'Forked from this run' }).click();
    await page.waitForURL(`**/runs/${runId}`);
    await page.getByRole('link', { name: 'Related runs' }).click();
    await page.getByRole('listitem').filter({ hasText: 'Fork' }).getByRole('link', { name: 'files' }).waitFor();
    console.expectQuiet();
  });

  it('keeps the place of a reader when new content comes, and follows the end otherwise', async () => {
    const say = (number: number): object => ({ say: `Message ${number}.\n\n${'A long text. '.repeat(60)}` });
    const ask = { ask: { title: 'Continue', kind: 'execute', name: 'Bash', input: { command: 'true' } } };
    const messages = (from: number): object[] =>
      Array.from({ length: 60 }, (_, index) => [say(from + index), call(`c-${from + index}`, { kind: 'read' })]).flat();
    const runId = await scripted([...messages(0), ask, ...messages(60)], {
      config: { harness: { type: 'scripted' }, permission_policy: 'ask' },
    });
    const console = await open();
    const { page } = console;
    await console.go(`runs/${runId}`);
    // The end is shown, and most of the history is no element.
    await page.getByText('Message 59.', { exact: true }).waitFor();
    await console.button('Allow').waitFor();
    expect(await page.locator('[data-row]').count()).toBeLessThan(60);
    expect(await page.getByText('Message 1.', { exact: true }).count()).toBe(0);
    await page.mouse.move(700, 400);
    await page.mouse.wheel(0, -6000);
    const place = () =>
      page.evaluate<readonly [string, number]>(`(() => {
        const row = [...document.querySelectorAll('[data-row]')].find((each) => each.getBoundingClientRect().top > 100);
        return [row.dataset.row, Math.round(row.getBoundingClientRect().top)];
      })()`);
    await until(
      async () => (await page.getByText('Message 59.', { exact: true }).count()) === 0,
      10_000,
      'an earlier place',
    );
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
    const before = await place();
    const { body } = await installation.call('GET', `/agent/runs/${runId}/approvals`);
    const [{ approval_id: approvalId }] = body.approvals;
    await installation.call('POST', `/agent/runs/${runId}/approvals/${approvalId}`, { decision: 'allow' });
    await console.state('SUCCEEDED').waitFor();
    const after = await place();
    expect(after[0]).toBe(before[0]);
    expect(Math.abs(after[1] - before[1])).toBeLessThanOrEqual(2);
    await console.button('End').click();
    await page.getByText('Message 119.', { exact: true }).waitFor();
    await console.button('Start').click();
    await page.locator('article.user').waitFor();
    expect(await page.getByText('Message 119.', { exact: true }).count()).toBe(0);
    // The search finds what is no element.
    await page.getByLabel('Find in this run').fill('message 87.');
    await page.getByLabel('Find in this run').press('Enter');
    // The first match is the prompt.
    await page.getByText('1 of 2').waitFor();
    await page.getByLabel('Find in this run').press('Enter');
    await page.getByText('Message 87.', { exact: true }).waitFor();
    await console.expectAccessible();
    console.expectQuiet();
  });

  it('shows untrusted text of all kinds as text', async () => {
    const attack = '<img src=x onerror="window.attacked=1">\u202Egnp.exe';
    const long = 'x'.repeat(15_000);
    const markdown = [
      '<svg onload="window.attacked=1"></svg>',
      '<script>window.attacked=1</script>',
      '[link](javascript:window.attacked=1) [data](data:text/html,<script>window.attacked=1</script>)',
      '![image](https://attacker.example/track.png)',
      '[![x](javascript:window.attacked=1)](javascript:window.attacked=1)',
      `${'>'.repeat(300)} deep ${'- '.repeat(300)}`,
      long,
      '<iframe src="javascript:window.attacked=1"></iframe>',
    ];
    const runId = await scripted(
      [
        // First, because only what is near the window is an element.
        { say: markdown.join('\n\n') },
        update('plan', { entries: [{ content: `${attack}${long}`, status: 'pending', priority: 'low' }] }),
        update('agent_thought_chunk', {
          content: { type: 'text', text: `${attack} [a](javascript:window.attacked=1)` },
        }),
        call('e', {
          title: attack,
          kind: 'edit',
          content: [{ type: 'diff', path: attack, oldText: '', newText: `${attack}\n${long}\n<svg onload=alert(1)>` }],
        }),
        call('o', { title: attack, kind: 'other', rawInput: { [attack]: attack }, rawOutput: { html: attack } }),
        { run: 'printf \'<svg xmlns="http://www.w3.org/2000/svg" onload="window.attacked=1"/>\' > \'<b>x.svg\'' },
      ],
      { title: attack },
    );
    await installation.waitFor(runId, ['SUCCEEDED']);
    const console = await open({ viewport: { width: 360, height: 740 }, colorScheme: 'dark' });
    const { page } = console;
    await page.getByRole('list', { name: 'Runs' }).getByText('<img src=x onerror').waitFor();
    for (const part of ['', '?tab=timeline', '?tab=raw', '?tab=changes', '?tab=details']) {
      await console.go(`runs/${runId}${part}`);
      await page.locator('h1', { hasText: '<img src=x' }).waitFor();
      if (part !== '?tab=details') await page.locator('main details').first().waitFor();
      const closed = page.locator('main details:not([open]) > summary');
      for (let left = Math.min(5, await closed.count()); left > 0; left -= 1) await closed.first().click();
      await console.expectAccessible();
      expect(await page.evaluate('window.attacked')).toBeUndefined();
      expect(await page.locator('main img, main script, main svg, main iframe').count()).toBe(0);
      const links = page.locator('main a');
      for (const href of await links.evaluateAll((found) => found.map((link) => link.getAttribute('href'))))
        expect(href).not.toMatch(/^(javascript|data):/i);
    }
    console.expectQuiet();
  });
});
