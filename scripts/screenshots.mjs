// `npm run screenshots`: makes the pictures of the documentation from a new installation with a few runs.
import { requireNode } from './lib/node-version.mjs';

requireNode();
const { mkdirSync, mkdtempSync, rmSync } = await import('node:fs');
const { tmpdir } = await import('node:os');
const { join } = await import('node:path');
const { Api } = await import('./lib/api.mjs');
const { openConsole, startBrowser } = await import('./lib/browser.mjs');
const { hasEnded, follow } = await import('./lib/demo-follow.mjs');
const { withInstance } = await import('./lib/demo-instance.mjs');
const { inRoot } = await import('./lib/paths.mjs');

const sh = (...commands) => commands.map((command) => `\`\`\`sh\n${command}\n\`\`\``).join('\n\n');

const ENDED = [
  {
    title: 'Update the dependencies of the billing service',
    prompt: sh('echo updated'),
    metadata: { team: 'billing' },
  },
  { title: 'Explain why the nightly build is red', prompt: sh('echo "The disk is full." && exit 3') },
  { title: 'Write release notes for 2.4', prompt: sh('printf "# 2.4\\n\\n- Faster search\\n" > notes.md') },
];

const ACTIVE = [
  { title: 'Investigate slow queries of the search page', prompt: sh('sleep 600') },
  { title: 'Add pagination to the list of invoices', prompt: sh('sleep 600'), metadata: { team: 'billing' } },
  { title: 'Translate the settings page into French', prompt: sh('echo translated') },
];

const SHOWN = {
  title: 'Fix the rounding of invoices',
  prompt: `The total of an invoice is one cent too low. Write a test that shows it, correct it, and run the test.

\`\`\`write path=invoice.js
export const total = (lines) => Math.floor(lines.reduce((sum, { price, count }) => sum + price * count, 0) * 100) / 100;
\`\`\`

\`\`\`write path=invoice.test.js
import assert from 'node:assert/strict';
import test from 'node:test';
import { total } from './invoice.js';

test('rounds to the nearest cent', () => assert.equal(total([{ price: 0.29, count: 100 }]), 29));
\`\`\`

${sh('node --test --experimental-default-type=module invoice.test.js', "sed -i 's/Math.floor/Math.round/' invoice.js", 'node --test --experimental-default-type=module invoice.test.js')}`,
};

const directory = mkdtempSync(join(tmpdir(), 'headrace-screenshots-'));
process.env.HEADRACE_DATA_DIR = directory;
const target = inRoot('docs/images');
mkdirSync(target, { recursive: true });
try {
  await withInstance(async (connection) => {
    const api = new Api(connection);
    const { run_id: id } = await api.createRun(SHOWN);
    await follow(api, id, hasEnded);
    for (const run of ENDED) await follow(api, (await api.createRun(run)).run_id, hasEnded);
    // As many as are executed at the same time, and one more that waits.
    for (const run of ACTIVE) await api.createRun(run);
    await api.call('POST', '/agent/schedules', {
      name: 'Nightly dependency update',
      cron_schedule: '0 3 * * *',
      prompt: sh('echo updated'),
      enabled: true,
    });
    const browser = await startBrowser();
    try {
      for (const [name, colorScheme, path, shown] of [
        ['console-runs', 'light', 'runs', SHOWN.title],
        ['console-run', 'dark', `runs/${id}`, 'invoice.test.js'],
      ]) {
        const page = await openConsole(browser, connection.base_url, api, {
          colorScheme,
        });
        await page.goto(new URL(`/console/${path}`, connection.base_url).href);
        await page.getByText(shown).last().waitFor();
        await page.screenshot({ path: join(target, `${name}.png`) });
        console.log(`docs/images/${name}.png`);
      }
    } finally {
      await browser.close();
    }
  });
} finally {
  rmSync(directory, { recursive: true, force: true });
}
process.exit(0);
