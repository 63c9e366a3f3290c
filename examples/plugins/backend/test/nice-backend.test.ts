import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PluginVariables } from 'headrace/plugin';
import { backendConformance, startTestHeadrace, type TestHeadrace, until } from 'headrace/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import NiceBackendPlugin, { NiceBackend } from 'headrace-example-backend';

const directory = mkdtempSync(join(tmpdir(), 'nice-backend-'));
const variables = { HEADRACE_PLUGIN_EXAMPLE_BACKEND_DIRECTORY: directory };

backendConformance('nice', {
  create: () => Promise.resolve(new NiceBackend(new PluginVariables(variables))),
  origin: ({ origin }) => origin,
  marker: (key, executionId) => `${key.replaceAll('-', '')}-${executionId}`,
  leftovers: () => readdirSync(directory),
});

let headrace: TestHeadrace;

beforeAll(async () => {
  headrace = await startTestHeadrace({ plugins: [NiceBackendPlugin], settings: { EXECUTOR: 'nice', ...variables } });
}, 60_000);
afterAll(() => rmSync(directory, { recursive: true }));

it('executes a hosted run, and leaves nothing', async () => {
  const { body: created } = await headrace.request(200, 'POST /agent/runs', { body: { prompt: 'Say hello.' } });
  const path = `GET /agent/runs/${created.run_id}`;
  await until(async () => (await headrace.request(200, path)).body.state === 'SUCCEEDED', 30_000, 'the run');
  // The session stays open for follow-ups; the end of the processor ends it.
  await headrace.close();
  expect(readdirSync(directory)).toEqual([]);
}, 30_000);
