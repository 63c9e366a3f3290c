import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ModelServer } from '../../libs/testing/src/model-server/index.js';
import { Installation, type Program } from '../support/installation.js';
import { ALIAS, type Endpoint, endpointEntry, endpointId, ENDPOINTS } from './endpoints.js';
import { cellOf, type EndedRun } from './failure-cells.js';
import { installedAgents, skipReason } from './installed-agents.js';

const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
/** A virtual key of a gateway. */
const KEY = 'sk-virtual-0123456789abcdef';
const agents = installedAgents();
const endpoints = ENDPOINTS.filter(({ agent }) => agents.some(({ id }) => id === agent)).map(
  (endpoint) => [endpointId(endpoint), endpoint] as const,
);

let directory: string;
let models: ModelServer;
let installation: Installation;
let server: Program;

beforeAll(async () => {
  if (skipReason !== null) return;
  directory = mkdtempSync(join(tmpdir(), 'headrace-endpoints-test-'));
  models = await ModelServer.start(KEY);
  const harnesses = Object.fromEntries(
    endpoints.map(([name, endpoint]) => {
      const program = agents.find(({ id }) => id === endpoint.agent)?.entry(models.url) ?? {};
      return [name, endpointEntry(endpoint, program, models.url)];
    }),
  );
  const file = join(directory, 'harnesses.json');
  writeFileSync(file, JSON.stringify({ harnesses }));
  installation = await Installation.create({ HARNESSES_FILE: file, MAX_IDLE_SESSIONS: '0', LEASE_TTL: '30s' });
  server = await installation.up();
  // Claude Code has no variable for a key of a gateway before Vertex AI; it sends headers.
  for (const [name, value] of Object.entries({ 'model-key': KEY, 'model-header': `x-gateway-key: ${KEY}` }))
    expect(await installation.call('PUT', `/secrets/${name}`, { value })).toMatchObject({ status: 200 });
});

afterAll(async () => {
  if (skipReason !== null) return;
  await server.stopCleanly('SIGINT');
  await models.stop();
  installation.remove();
  rmSync(directory, { recursive: true });
});

async function end(name: string, { model = ALIAS, authVariable }: Endpoint, prompt: string) {
  const secret = authVariable === 'ANTHROPIC_CUSTOM_HEADERS' ? 'model-header' : 'model-key';
  const runId = await installation.createRun(prompt, {
    config: {
      harness: { type: name, model_id: model },
      harness_auth_secrets: { [`${name}_auth_secret_name`]: secret },
    },
  });
  return { runId, run: (await installation.waitFor(runId, ENDED, 90_000)) as EndedRun };
}

describe.skipIf(skipReason !== null)('model endpoints', { timeout: 120_000 }, () => {
  it.each(endpoints)('answer an agent that works (%s)', async (name, endpoint) => {
    const { runId, run } = await end(name, endpoint, `RUN: echo made-through-${name}`);
    expect(run.state, JSON.stringify(run.status_message)).toBe('SUCCEEDED');
    const { body } = await installation.call('GET', `/agent/runs/${runId}/conversation`);
    expect(JSON.stringify(body)).toContain('The command has run.');
    // The agent of an earlier run may still ask.
    const ofRun = models.requests.filter(({ body: sent }) => sent.includes(`made-through-${name}`));
    const asked = ofRun.filter(({ tools }) => tools.length > 0);
    expect(asked.length).toBeGreaterThanOrEqual(2);
    const [header, value] = endpoint.header;
    for (const { path, model, headers, body: sent } of asked) {
      expect(path).toMatch(endpoint.path);
      expect(model).toBe(ALIAS);
      expect(headers[header]).toBe(value(KEY));
      expect(sent).not.toContain(KEY);
    }
    expect(JSON.stringify(body)).not.toContain(KEY);
  });

  it.each(endpoints.filter(([, { kind }]) => kind === 'LiteLLM'))(
    'end the run when the budget of a virtual key is spent (%s)',
    async (name, endpoint) => {
      const { run } = await end(name, endpoint, 'FAIL: budget');
      expect(cellOf(run, [])).toBe('no credits');
      expect(run.status_message?.detail).toContain('Budget has been exceeded!');
    },
  );
});

// A reason that can be read in the report, instead of an empty file.
if (skipReason !== null) it.skip(`model endpoints are not tested: ${skipReason}`, () => undefined);
