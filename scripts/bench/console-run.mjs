// `npm run bench -- console-run`: opens the page of a long run in headless Chromium, against a real API and PostgreSQL.
// BENCH_EVENTS: events in the log of the run. CHROMIUM_PATH: the browser.
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Api } from '../lib/api.mjs';
import { openConsole, startBrowser } from '../lib/browser.mjs';
import { makeCaller, median, percentile, withClient, withFilledApi } from './support.mjs';

const EVENTS = Number(process.env.BENCH_EVENTS ?? 20_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const SCROLL_MS = 5000;
const LAST = 'The last message of the run.';

export const benchConsoleRun = () =>
  withFilledApi(makeCaller, async ({ databaseUrl, origin, filled: token }) => {
    const api = new Api({ base_url: `${origin}/api/v1`, token });
    const { run_id: runId } = await api.createRun({ prompt: 'Fix the failing tests.' });
    await withClient(databaseUrl, (db) => fillLog(db, runId));
    const browser = await startBrowser(['--enable-precise-memory-info']);
    try {
      const rounds = [];
      for (let round = 0; round < ROUNDS; round += 1) rounds.push(await measure(browser, { origin, api, runId }));
      print(rounds);
      return rounds;
    } finally {
      await browser.close();
    }
  });

/** The log that the service keeps of a long turn: texts, commands with output, edits, thoughts, and their end. */
async function fillLog(db, runId) {
  const begin = Date.now() - EVENTS * 500;
  const events = [];
  const add = (kind, data) => events.push({ kind, data, at: new Date(begin + events.length * 500).toISOString() });
  add('run_claimed', { execution_id: 1 });
  add('sandbox_ready', {});
  add('session_started', { session_id: 'bench', resumed: false });
  add('agent_started', { harness: 'oz' });
  add('turn_started', { turn_id: 'turn-1', prompt: 'Fix the failing tests.' });
  for (let number = 0; events.length < EVENTS - 4; number += 1) {
    const text = `## Step ${number}\n\nThe test \`case ${number}\` fails because of **a missing check**:\n\n- read \`src/module-${number % 97}.ts\`\n- change it\n\n`;
    for (const chunk of [text, 'Then the tests are executed again. '])
      add('message_chunk', { message_id: `message-${number}`, text: chunk });
    const call = { tool_call_id: `call-${number}`, tool_name: 'Bash', tool_kind: 'execute', title: 'Run the tests' };
    add('tool_call', { ...call, status: 'in_progress', input: { command: `npm test -- case-${number}` } });
    const output = Array.from(
      { length: 8 },
      (_, line) => `\u001b[32m✓\u001b[0m case ${number}.${line} passes in ${line} ms`,
    );
    add('tool_call', {
      tool_call_id: call.tool_call_id,
      status: 'completed',
      output: { stdout: output.join('\n'), exit_code: 0 },
    });
    if (number % 10 === 0)
      add('thought_chunk', { message_id: `thought-${number}`, text: 'What else can be wrong here?' });
    if (number % 15 === 0) {
      const content = [
        { type: 'diff', path: `src/module-${number % 97}.ts`, old_text: 'a\nb\nc\n', new_text: 'a\nB\nc\n' },
      ];
      add('tool_call', {
        tool_call_id: `edit-${number}`,
        title: 'Edit',
        tool_kind: 'edit',
        status: 'completed',
        content,
      });
    }
  }
  add('message_chunk', { message_id: 'last', text: LAST });
  add('turn_ended', { turn_id: 'turn-1', stop_reason: 'end_turn' });
  add('run_done', {});
  await db.query(
    `INSERT INTO run_events (run_id, seq, kind, at, data)
     SELECT $1, 1 + e.n, e.event->>'kind', (e.event->>'at')::timestamptz, e.event->'data'
     FROM jsonb_array_elements($2::jsonb) WITH ORDINALITY AS e(event, n)`,
    [runId, JSON.stringify(events)],
  );
  await db.query(
    `UPDATE runs SET state = 'SUCCEEDED', conversation_id = gen_random_uuid(), session_id = 'bench', started_at = now(),
       finished_at = now() WHERE id = $1`,
    [runId],
  );
  await db.query('INSERT INTO run_heads (run_id, last_seq) VALUES ($1, $2)', [runId, events.length + 1]);
}

async function measure(browser, { origin, api, runId }) {
  const page = await openConsole(browser, origin, api);
  const context = page.context();
  try {
    // The time at which the last message is on the screen, by the clock of the page.
    await page.addInitScript((last) => {
      const look = () => {
        const found = [...document.querySelectorAll('[data-row]')].find((row) => row.textContent?.includes(last));
        const box = found?.getBoundingClientRect();
        if (box && box.top < innerHeight && box.bottom > 0)
          requestAnimationFrame(() => (window.benchShown = performance.now()));
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    }, LAST);
    await page.goto(`${origin}/console/runs/${runId}`, { waitUntil: 'commit' });
    await page.waitForFunction(() => window.benchShown !== undefined, undefined, { timeout: 60_000 });
    const opened = await page.evaluate(() => {
      const stream = performance.getEntriesByType('resource').find(({ name }) => name.endsWith('/events'));
      return { shown: window.benchShown, firstByte: stream?.responseStart ?? 0, requested: stream?.requestStart ?? 0 };
    });
    const frames = await page.evaluate(async (duration) => {
      const times = [];
      const started = performance.now();
      let previous = started;
      let direction = -1;
      while (previous - started < duration) {
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        times.push(now - previous);
        previous = now;
        const { scrollHeight } = document.documentElement;
        if (scrollY < 2000) direction = 1;
        if (scrollY > scrollHeight - 3000) direction = -1;
        scrollBy(0, direction * 400);
      }
      return times.slice(1);
    }, SCROLL_MS);
    const session = await context.newCDPSession(page);
    await session.send('HeapProfiler.collectGarbage');
    const heap = await page.evaluate(() => performance.memory.usedJSHeapSize);
    const elements = await page.evaluate(() => document.querySelectorAll('*').length);
    return {
      first: opened.firstByte - opened.requested,
      open: opened.shown - opened.firstByte,
      whole: opened.shown,
      frame: percentile(frames, 0.95),
      heap: heap / 1_048_576,
      memory: (await rendererMemory(browser)) / 1_048_576,
      elements,
    };
  } finally {
    await context.close();
  }
}

/** Private memory of the largest renderer: the page of the run. */
async function rendererMemory(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const sizes = processInfo
    .filter(({ type }) => type === 'renderer')
    .map(({ id }) => {
      const rollup = readFileSync(`/proc/${id}/smaps_rollup`, 'utf8');
      const field = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1] ?? 0) * 1024;
      return field('Private_Clean') + field('Private_Dirty');
    });
  await session.detach();
  return Math.max(...sizes);
}

function print(rounds) {
  console.log(
    `${EVENTS.toLocaleString('en')} events, ${availableParallelism()} processors, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}; median of ${rounds.length} rounds (worst)`,
  );
  const line = (name, key, unit) => {
    const values = rounds.map((round) => round[key]);
    console.log(`${name}: ${median(values).toFixed(0)} (${Math.max(...values).toFixed(0)}) ${unit}`);
  };
  line('first byte of the stream after its request', 'first', 'ms');
  line('last message on the screen after the first byte', 'open', 'ms');
  line('last message on the screen after the navigation', 'whole', 'ms');
  line('frame while scrolling, p95', 'frame', 'ms');
  line('JavaScript heap after a collection', 'heap', 'MiB');
  line('private memory of the process of the page', 'memory', 'MiB');
  line('elements', 'elements', '');
}
