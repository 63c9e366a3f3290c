// `npm run bench -- console-views`: what the first visit of each view of the console costs, against its budget. Every visit has
// a new browser context, so that nothing comes from a cache. Fails when a budget is exceeded.
import { availableParallelism } from 'node:os';
import { Api } from '../lib/api.mjs';
import { openConsole, startBrowser } from '../lib/browser.mjs';
import { fillRuns, fillTeams } from './fill-runs.mjs';
import { makeCaller, withClient, withFilledApi } from './support.mjs';

const RUNS = Number(process.env.BENCH_RUNS ?? 10_000);
/** Compressed script in kB, all bytes in kB, requests, and the longest task of the main thread in milliseconds. */
const BUDGET = { script: 60, bytes: 150, requests: 40, task: 200 };

const VIEWS = [
  ...['runs', 'runs/RUN', 'runs/RUN?tab=timeline', 'inbox', 'webhooks', 'automations', 'schedules', 'environments'],
  ...['agents', 'secrets', 'workers', 'team', 'team?tab=audit-log', 'status'],
];

export const benchConsoleViews = () =>
  withFilledApi(
    async (db) => {
      await fillRuns(db, { runs: RUNS });
      return makeCaller(db, { team: fillTeams[0] });
    },
    async ({ databaseUrl, origin, filled: token }) => {
      await withClient(databaseUrl, (db) => db.query(`UPDATE memberships SET role = 'owner'`));
      const api = new Api({ base_url: `${origin}/api/v1`, token });
      const { runs } = await api.runs('limit=1');
      const browser = await startBrowser();
      try {
        const results = [];
        for (const view of VIEWS) {
          const path = view.replace('RUN', runs[0].run_id);
          results.push({ view: view.replace('RUN', '…'), ...(await visit(browser, { origin, api, path })) });
        }
        print(results);
      } finally {
        await browser.close();
      }
    },
  );

async function visit(browser, { origin, api, path }) {
  const signedIn = await openConsole(browser, origin, api);
  const storageState = await signedIn.context().storageState();
  await signedIn.context().close();
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, storageState });
  try {
    const page = await context.newPage();
    await page.addInitScript(() => {
      globalThis.tasks = [];
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) globalThis.tasks.push(duration);
      }).observe({ type: 'longtask', buffered: true });
    });
    await page.goto(`${origin}/console/${path}`);
    await page.getByRole('main').getByRole('heading', { level: 1 }).first().waitFor();
    await page.getByText('Loading …').first().waitFor({ state: 'detached' });
    return await page.evaluate(() => {
      const found = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];

      const sum = (list) => list.reduce((total, { transferSize }) => total + transferSize, 0) / 1000;
      return {
        script: sum(found.filter(({ name }) => name.includes('.js'))),
        bytes: sum(found),
        requests: found.length,
        task: Math.max(0, ...globalThis.tasks),
        shown: performance.now(),
      };
    });
  } finally {
    await context.close();
  }
}

function print(results) {
  console.log(`${RUNS.toLocaleString('en')} runs, ${availableParallelism()} processors; budgets in the last line`);
  console.log('| view | script, kB | all bytes, kB | requests | longest task, ms | shown after, ms | |');
  console.log('| --- | ---: | ---: | ---: | ---: | ---: | --- |');
  const row = (name, values, shown, verdict) =>
    console.log(
      `| ${name} | ${values.script.toFixed(0)} | ${values.bytes.toFixed(0)} | ${values.requests} | ${values.task.toFixed(0)} | ${shown} | ${verdict} |`,
    );
  let isExceeded = false;
  for (const { view, shown, ...values } of results) {
    const exceeded = Object.keys(BUDGET).filter((name) => values[name] > BUDGET[name]);
    isExceeded ||= exceeded.length > 0;
    row(view, values, shown.toFixed(0), exceeded.length === 0 ? 'within' : `EXCEEDED: ${exceeded.join(', ')}`);
  }
  row('budget', BUDGET, '', '');
  if (isExceeded) process.exitCode = 1;
}
