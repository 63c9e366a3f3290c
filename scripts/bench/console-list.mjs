// `npm run bench -- console-list`: the list of runs in headless Chromium. From the key or the click until the page shows the
// rows of the new filter, and whether input is delayed while 200 of the shown runs change each second. BENCH_RUNS is the
// number of stored runs.
import { availableParallelism } from 'node:os';
import { Api } from '../lib/api.mjs';
import { openConsole, startBrowser } from '../lib/browser.mjs';
import { fillRuns, fillTeams } from './fill-runs.mjs';
import { makeCaller, median, percentile, withClient, withFilledApi } from './support.mjs';

const RUNS = Number(process.env.BENCH_RUNS ?? 1_000_000);
const REPEATS = Number(process.env.BENCH_REPEATS ?? 10);
const AIM_MS = 300;

const SEARCHES = ['deploy webhook', 'task-4711', 'typechekc', 'invoice rounding'];
const STATES = ['Failed', 'Cancelled', 'Error'];

export async function benchConsoleList() {
  const fill = async (db) => {
    await fillRuns(db, { runs: RUNS, log: (line) => console.error(`  ${line}`) });
    return makeCaller(db, { team: fillTeams[0] });
  };
  await withFilledApi(fill, async ({ databaseUrl, origin, filled: token }) => {
    const browser = await startBrowser();
    try {
      const api = new Api({ base_url: `${origin}/api/v1`, token });
      const page = await openConsole(browser, origin, api);
      console.log(`${RUNS.toLocaleString('en')} runs, ${availableParallelism()} processors; milliseconds`);
      console.log('| input | first | p50 | p99 | aim | |');
      console.log('| --- | ---: | ---: | ---: | ---: | --- |');
      for (const text of SEARCHES) print(`search “${text}”`, await measureSearch(page, api, text));
      for (const state of STATES) print(`chip ${state}`, await measureChip(page, api, state));
      await measureInput(page, databaseUrl);
    } finally {
      await browser.close();
    }
  });
}

function print(name, times) {
  const slowest = percentile(times, 0.99);
  const verdict = slowest <= AIM_MS ? 'within' : 'MISSED';
  console.log(
    `| ${name} | ${times[0].toFixed(0)} | ${median(times).toFixed(0)} | ${slowest.toFixed(0)} | ${AIM_MS} | ${verdict} |`,
  );
}

/** Resolves in the page to the time from the event `type` until the first row is the run `first`, and painted. */
const watch = (page, type, first) =>
  page.evaluate(
    ([eventType, runId]) => {
      globalThis.measured = new Promise((resolve) => {
        addEventListener(
          eventType,
          ({ timeStamp }) => {
            const look = () => {
              const row = document.querySelector('ul[aria-label="Runs"] a');
              if (row?.getAttribute('href')?.endsWith(runId))
                requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - timeStamp)));
              else requestAnimationFrame(look);
            };
            look();
          },
          { once: true, capture: true },
        );
      });
    },
    [type, first],
  );

async function firstRun(api, query) {
  const { runs } = await api.runs(`limit=1&sort_by=created_at&${query}`);
  if (!runs[0]) throw new Error(`No run matches ${query}.`);
  return runs[0].run_id;
}

async function measureSearch(page, api, text) {
  const first = await firstRun(api, new URLSearchParams({ q: text }));
  const box = page.getByRole('searchbox', { name: 'Search runs' });
  const times = [];
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    await box.fill('');
    await page.waitForFunction(() => !location.search.includes('q='));
    const newest = await firstRun(api, '');
    await page.waitForFunction(
      (runId) => document.querySelector('ul[aria-label="Runs"] a')?.getAttribute('href')?.endsWith(runId),
      newest,
    );
    await watch(page, 'input', first);
    await box.fill(text);
    times.push(await page.evaluate(() => globalThis.measured));
  }
  await box.fill('');
  return times;
}

async function measureChip(page, api, state) {
  const first = await firstRun(api, new URLSearchParams({ state: state.toUpperCase() }));
  const newest = await firstRun(api, '');
  const chip = page.getByRole('button', { name: state, exact: true });
  const times = [];
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    await page.waitForFunction(
      (runId) => document.querySelector('ul[aria-label="Runs"] a')?.getAttribute('href')?.endsWith(runId),
      newest,
    );
    await watch(page, 'pointerdown', first);
    await chip.click();
    times.push(await page.evaluate(() => globalThis.measured));
    await chip.click();
  }
  return times;
}

const CHANGED = 200;
const INPUT_SECONDS = 15;
const KEY_MS = 80;

/** Types while the states of the newest runs change in the database once a second. */
async function measureInput(page, databaseUrl) {
  while ((await page.getByRole('list', { name: 'Runs' }).getByRole('listitem').count()) < CHANGED) {
    const before = await page.getByRole('list', { name: 'Runs' }).getByRole('listitem').count();
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.waitForFunction(
      (count) => document.querySelectorAll('ul[aria-label="Runs"] > li').length > count,
      before,
    );
  }
  await page.evaluate(() => {
    globalThis.delays = [];
    globalThis.changes = 0;
    new PerformanceObserver((list) => {
      for (const { name, duration } of list.getEntries()) if (name === 'keydown') globalThis.delays.push(duration);
    }).observe({ type: 'event', durationThreshold: 16 });
    new MutationObserver((records) => {
      globalThis.changes += records.filter(({ attributeName }) => attributeName === 'data-state').length;
    }).observe(document.querySelector('ul[aria-label="Runs"]'), { subtree: true, attributeFilter: ['data-state'] });
  });
  // A text box of the page that does not change the list.
  await page.evaluate(() => {
    const box = document.createElement('input');
    box.id = 'typed';
    document.querySelector('main').prepend(box);
    box.focus();
  });
  const shown = await page.evaluate(() =>
    Array.from(document.querySelectorAll('ul[aria-label="Runs"] > li a'), ({ href }) => href.split('/').at(-1)),
  );
  const typed = await withClient(databaseUrl, async (db) => {
    let text = '';
    for (let second = 0; second < INPUT_SECONDS; second += 1) {
      await db.query(
        `UPDATE runs SET state = CASE state WHEN 'CANCELLED' THEN 'SUCCEEDED' ELSE 'CANCELLED' END, updated_at = now()
         WHERE id = ANY ($1::uuid[])`,
        [shown.slice(0, CHANGED)],
      );
      const until = performance.now() + 1000;
      while (performance.now() < until) {
        const key = 'abcdefghijklmnopqrstuvwxyz'[text.length % 26];
        await page.keyboard.press(key);
        text += key;
        await new Promise((resolve) => setTimeout(resolve, KEY_MS));
      }
    }
    return text;
  });
  const { value, delays, changes } = await page.evaluate(() => ({
    value: document.querySelector('#typed').value,
    delays: globalThis.delays,
    changes: globalThis.changes,
  }));
  const slowest = delays.length === 0 ? 16 : Math.max(...delays);
  console.log(
    `Typing ${typed.length} keys while ${CHANGED} runs change each second: ${value === typed ? 'none lost' : 'KEYS LOST'}, ` +
      `${changes} changed badges, slowest key until the next paint ${slowest.toFixed(0)} ms`,
  );
}
