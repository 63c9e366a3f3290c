import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { slackViolations } from '#testing';
import { buttonsIn } from '../api/notifications/decision-messages.js';
import { WebhookReceiver } from '../api/notifications/webhook-receiver.js';
import { NO_BROWSER, startBrowser } from '../support/browser.js';
import { Installation, type Program } from '../support/installation.js';
import { ConsolePage } from './console-page.js';

const sh = (command: string): string => `\`\`\`sh\n${command}\n\`\`\``;

describe.skipIf(NO_BROWSER !== null)('buttons in messages that decide', { timeout: 120_000 }, () => {
  let installation: Installation;
  let server: Program;
  let browser: Browser;
  let console: ConsolePage;
  let receiver: WebhookReceiver;

  beforeAll(async () => {
    receiver = await WebhookReceiver.listen();
    installation = await Installation.create({
      API_RATE_PER_MINUTE: '0',
      NOTIFY_ALLOW_HTTP: 'true',
      NOTIFY_ALLOW_PRIVATE: '127.0.0.1',
    });
    [server, browser] = await Promise.all([installation.up(), startBrowser()]);
    console = await ConsolePage.open(browser, installation);
  });
  afterAll(async () => {
    await browser.close();
    await server.stop();
    installation.remove();
    await receiver.close();
  });

  /** A phone whose browser executes no script and has no session. */
  const phone = () =>
    ConsolePage.signedOut(browser, console.origin, { javaScriptEnabled: false, viewport: { width: 360, height: 740 } });
  const message = async (): Promise<ReturnType<typeof JSON.parse>> => JSON.parse((await receiver.next()).body);
  const urlOf = (body: unknown, label: string): string =>
    buttonsIn(body).find((button) => button.label === label)?.url ?? `no button ${label}`;

  it('are switched on in the console', async () => {
    const { page } = console;
    await console.go('webhooks?tab=notifications');
    await console.button('New notification webhook').click();
    await page.getByLabel('Name', { exact: true }).fill('release channel');
    await page.getByLabel('Address').fill(receiver.url);
    await page.getByLabel('Messages have buttons that decide').check();
    await console.button('Create notification webhook').click();
    await page
      .locator('.field', { has: page.getByLabel('Messages have buttons that decide') })
      .getByRole('alert')
      .waitFor();
    console.expectRejected(400);
    await page.getByLabel('Format').selectOption({ label: 'Slack' });
    await console.expectAccessibleEverywhere();
    await console.button('Create notification webhook').click();
    await page.getByRole('row').filter({ hasText: 'with buttons that decide' }).waitFor();
    console.expectQuiet();
  });

  it('let a run continue after one press on a phone, and say so to everybody else', async () => {
    const prompt = `\`\`\`ask title="Deploy <b>now</b>"\n\`\`\`\n${sh('echo deployed')}`;
    const runId = await installation.createRun(prompt, { config: { permission_policy: 'ask' } });
    const body = await message();
    expect(slackViolations(body)).toEqual([]);
    const [first, second] = await Promise.all([phone(), phone()]);
    await first.page.goto(urlOf(body, 'Allow'));
    await first.page.getByRole('heading', { name: 'Allow this request?' }).waitFor();
    await first.page.getByText('Deploy <b>now</b>').waitFor();
    await second.page.goto(urlOf(body, 'Deny'));
    await first.button('Allow').click();
    await first.page.getByRole('heading', { name: 'Allowed' }).waitFor();
    await second.button('Deny').click();
    await second.page.getByText(/Already decided by release channel at .* UTC: allowed\./).waitFor();
    second.expectRejected(409);
    await second.page.getByRole('link', { name: 'Open the request in the console' }).click();
    await second.page.waitForURL(/\/console\//);
    first.expectQuiet();
    await console.go(`runs/${runId}`);
    await console.state('SUCCEEDED').waitFor();
    const { approvals } = (await installation.call('GET', `/agent/runs/${runId}/approvals`)).body;
    await console.go(`inbox?item=${runId}/${approvals[0].approval_id}`);
    await console.page.getByRole('status').getByText('release channel').waitFor();
    expect((await message()).blocks[0].text.text).toBe('Run succeeded');
    await Promise.all([first.close(), second.close()]);
  });

  it('open a page that is accessible, with a field for a free text', async () => {
    const question = JSON.stringify({ question: 'Which name?' });
    const prompt = `\`\`\`tool name=ask_person\n${question}\n\`\`\``;
    await installation.createRun(prompt);
    const body = await message();
    // The tests of accessibility are a script, which the tab of a phone above does not execute.
    const reader = await ConsolePage.signedOut(browser, console.origin);
    await reader.page.goto(urlOf(body, 'Answer'));
    await reader.expectAccessibleEverywhere();
    await reader.page.getByLabel('Your answer').fill('Grünwald');
    await reader.button('Send the answer').click();
    await reader.page.getByRole('heading', { name: 'Answered' }).waitFor();
    await reader.expectAccessibleEverywhere();
    reader.expectQuiet();
    expect((await message()).blocks[0].text.text).toBe('Run succeeded');
    await reader.close();
  });
});
