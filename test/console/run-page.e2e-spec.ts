import { chmodSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '#testing';
import { NO_BROWSER, startBrowser } from '../support/browser.js';
import { Installation, type Program } from '../support/installation.js';
import { ConsolePage } from './console-page.js';

const AGENT = fileURLToPath(new URL('../support/scripted-agent.mjs', import.meta.url));

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

describe.skipIf(NO_BROWSER !== null)('the page of a run', { timeout: 60_000 }, () => {
  let installation: Installation;
  let server: Program;
  let browser: Browser;
  let directory: string;
  const pages: ConsolePage[] = [];

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'headrace-agent-'));
    // Executions with separate users must be able to read the agent.
    chmodSync(directory, 0o755);
    const [agent, harnesses] = [join(directory, 'agent.mjs'), join(directory, 'harnesses.json')];
    copyFileSync(AGENT, agent);
    writeFileSync(harnesses, JSON.stringify({ harnesses: { scripted: { command: process.execPath, args: [agent] } } }));
    installation = await Installation.create({ API_RATE_PER_MINUTE: '0', HARNESSES_FILE: harnesses });
    [server, browser] = await Promise.all([installation.up(), startBrowser()]);
  });
  afterAll(async () => {
    await Promise.all(pages.map((page) => page.close()));
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

  it('shows one history in three densities', async () => {
    const runId = await scripted(STORY, { title: 'a story' });
    const console = await open();
    const { page } = console;
    await console.go(`runs/${runId}`);
    await console.state('SUCCEEDED').waitFor();
    await page.screenshot({ path: '/tmp/run-shots/story.png' });
    const plan = page.getByRole('group', { name: 'Plan' });
    await plan.getByText('1 of 3').waitFor();
    console.expectQuiet();
  });
});
