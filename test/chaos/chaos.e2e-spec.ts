import { describe, expect, it } from 'vitest';
import { runChaos } from './chaos.js';
import { chaosOptions, INSTALLATIONS } from './options.js';
import { redisObstacle } from './redis-server.js';

const options = chaosOptions(process.env);
/** Includes start, drain and stop, and several times the final wait of a stalled installation. */
const TIMEOUT_MS = options.durationMs + 8 * options.stallTimeoutMs + 5 * 60_000;
const MAX_PRINTED_PROBLEMS = 50;

describe(`chaos test (CHAOS_SEED=${options.seed})`, () => {
  for (const kind of INSTALLATIONS.filter((known) => options.installations.includes(known))) {
    it(
      `loses no run, executes none twice and leaves none unfinished under random kills: ${kind}`,
      { timeout: TIMEOUT_MS },
      async ({ skip }) => {
        const obstacle = kind === 'redis' ? redisObstacle() : null;
        if (obstacle !== null) skip(obstacle);
        const { summary, problems } = await runChaos(kind, options);
        const printed = problems.slice(0, MAX_PRINTED_PROBLEMS);
        // At once: the other installations may take half an hour.
        process.stdout.write(`${[summary, ...printed].join('\n')}\n`);
        expect(printed).toEqual([]);
      },
    );
  }
});
