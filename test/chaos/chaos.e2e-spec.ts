import { describe, expect, it } from 'vitest';
import { runChaos } from './chaos.js';
import { chaosOptions, INSTALLATIONS } from './options.js';
import { redisObstacle } from './redis-server.js';

const options = chaosOptions(process.env);
/** Starting, draining and stopping, with the final wait of a stalled installation several times. */
const TIMEOUT_MS = options.durationMs + 8 * options.stallTimeoutMs + 5 * 60_000;
const MAX_SHOWN = 50;

describe(`servers, agents and stores that are killed at random (CHAOS_SEED=${options.seed})`, () => {
  for (const kind of INSTALLATIONS.filter((known) => options.installations.includes(known))) {
    it(`lose no run, execute none twice and leave none stuck: ${kind}`, { timeout: TIMEOUT_MS }, async ({ skip }) => {
      const obstacle = kind === 'redis' ? redisObstacle() : null;
      if (obstacle !== null) skip(obstacle);
      const { summary, problems } = await runChaos(kind, options);
      process.stdout.write(`${summary}\n`);
      expect(problems.slice(0, MAX_SHOWN)).toEqual([]);
    });
  }
});
