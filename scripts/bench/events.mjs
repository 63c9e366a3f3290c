// `npm run bench -- events`: runners that stream events into one API process while clients read them live. Measures the time of a
// batch, and the time from the runner's clock in an event to its arrival at a reader. Runners and readers are one other process.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { aim } from './aims.mjs';
import { makeCaller, processorMs, root, withFilledApi } from './support.mjs';

const RUNNERS = Number(process.env.BENCH_RUNNERS ?? 100);
const EVENTS_PER_SECOND = 50;
const READERS = Number(process.env.BENCH_READERS ?? 2 * RUNNERS);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 20);
/** One principal reads at most as many streams at once by default. */
const STREAMS_PER_PRINCIPAL = 50;
const BATCH_P99_MS = 20;
const LAG_P99_MS = 300;

export const benchEvents = () =>
  withFilledApi(
    async (db) => {
      const tokens = [];
      for (let streams = 0; streams < READERS; streams += STREAMS_PER_PRINCIPAL)
        tokens.push(await makeCaller(db, { isServiceAccount: true }));
      return tokens;
    },
    async ({ port, api, filled: tokens }) => {
      const options = {
        port,
        tokens,
        runners: RUNNERS,
        readers: READERS,
        eventsPerSecond: EVENTS_PER_SECOND,
        seconds: SECONDS,
      };
      const client = spawn(
        process.execPath,
        ['--max-semi-space-size=32', join(root, 'scripts/bench/events-client.mjs')],
        {
          env: { PATH: process.env.PATH, BENCH_EVENTS: JSON.stringify(options) },
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      );
      let began = 0;
      for await (const line of createInterface({ input: client.stdout })) {
        if (line === 'measuring') {
          began = processorMs(api);
          continue;
        }
        const { batches, batchP50, batchP99, lags, lagP50, lagP99, events } = JSON.parse(line);
        const used = processorMs(api) - began;
        console.log(
          `batches   ${batches} of ${RUNNERS} runners with ${EVENTS_PER_SECOND} events/s each: p50 ${batchP50.toFixed(1)} ms, p99 ${batchP99.toFixed(1)} ms; ${(used / batches).toFixed(2)} ms of processor time of the API for a batch and its readers`,
        );
        console.log(
          `live      ${lags} batches at ${READERS} readers, ${events} events in all: p50 ${lagP50.toFixed(0)} ms, p99 ${lagP99.toFixed(0)} ms after the runner`,
        );
        aim(`events: p99 of a batch, ${RUNNERS} runners × ${EVENTS_PER_SECOND}/s`, batchP99, {
          atMost: BATCH_P99_MS,
          digits: 1,
          unit: ' ms',
        });
        aim(`events: p99 of the lag of ${READERS} live readers`, lagP99, {
          atMost: LAG_P99_MS,
          digits: 0,
          unit: ' ms',
        });
      }
      if (client.exitCode !== null && client.exitCode !== 0) throw new Error(`The client ended (${client.exitCode}).`);
    },
  );
