import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Installation, type Program } from '../support/installation.js';
import { Witness } from '../support/witness.js';
import { isLong } from '../support/long-tests.js';

const RUNS = 200;
const SLOTS = 4;
const MINUTE = 60_000;

// That the limit holds is shown by test/journeys/main-job, too.
describe.runIf(isLong)(`${RUNS} runs created at once`, { timeout: 10 * MINUTE }, () => {
  let installation: Installation;
  let server: Program;
  let witness: Witness;

  beforeAll(async () => {
    witness = new Witness();
    installation = await Installation.create({
      MAX_CONCURRENT_RUNS: String(SLOTS),
      MAX_CONCURRENT_RUNS_PER_TEAM: String(SLOTS),
      MAX_IDLE_SESSIONS: '2',
      LEASE_TTL: '30s',
      API_RATE_PER_MINUTE: '0',
    });
    server = await installation.up();
  });

  afterAll(async () => {
    await server.stopCleanly();
    installation.remove();
    witness.remove();
  });

  it('ends all runs within the concurrency limit without an error in the log', async () => {
    const runIds = await Promise.all(
      Array.from({ length: RUNS }, () => installation.createRun(`\`\`\`sh\n${witness.script(0.2)}\n\`\`\``)),
    );
    expect(new Set(runIds).size).toBe(RUNS);
    for (const runId of runIds) {
      expect(
        await installation.waitFor(runId, ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'], 9 * MINUTE),
      ).toMatchObject({ state: 'SUCCEEDED' });
    }
    const spans = witness.spans();
    expect(spans).toHaveLength(RUNS);
    for (const { from } of spans)
      expect(spans.filter((other) => other.from <= from && from < other.to).length).toBeLessThanOrEqual(SLOTS);
    const complaints = server.text.split('\n').filter((line) => /"level":"(warn|error|fatal)"/.test(line));
    expect(complaints).toEqual([]);
  });
});
