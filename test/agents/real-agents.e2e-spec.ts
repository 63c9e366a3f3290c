import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ModelServer } from '../../libs/testing/src/model-server/index.js';
import { Installation, type Program } from '../support/installation.js';
import { installedAgents, MODEL, skipReason } from './installed-agents.js';
import { McpPlaces } from './mcp-places.js';

const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
const SECRET = 'sk-of-the-team-0123456789abcdef';
/** Whose sessions can be put back on another machine; OpenCode keeps them in a database. */
const RESUMES: readonly string[] = ['claude', 'codex', 'gemini', 'qwen'];

let directory: string;
let models: ModelServer;
let installation: Installation;
let server: Program;

beforeAll(async () => {
  if (skipReason !== null) return;
  directory = mkdtempSync(join(tmpdir(), 'headrace-agents-test-'));
  models = await ModelServer.start();
  const harnesses = Object.fromEntries(installedAgents().map(({ id, entry }) => [id, entry(models.url)]));
  const file = join(directory, 'harnesses.json');
  writeFileSync(file, JSON.stringify({ harnesses }));
  // No session stays: every follow-up begins with a new process in a new workspace.
  installation = await Installation.create({
    HARNESSES_FILE: file,
    MAX_IDLE_SESSIONS: '0',
    LEASE_TTL: '30s',
    API_RATE_PER_MINUTE: '0',
  });
  server = await installation.up();
  const { status } = await installation.call('PUT', '/secrets/model-key', { value: SECRET });
  expect(status).toBe(200);
});

afterAll(async () => {
  if (skipReason !== null) return;
  await server.stopCleanly('SIGINT');
  await models.stop();
  installation.remove();
  rmSync(directory, { recursive: true });
});

interface Block {
  readonly type: string;
  readonly [field: string]: unknown;
}

async function blocksOf(runId: string): Promise<Block[]> {
  const { body } = await installation.call('GET', `/agent/runs/${runId}/conversation`);
  return (body.steps as { messages: { content: Block[] }[] }[]).flatMap((step) =>
    step.messages.flatMap((message) => message.content),
  );
}

async function sessionsOf(runId: string): Promise<Record<string, unknown>[]> {
  const { body } = await installation.call('GET', `/agent/runs/${runId}/timeline`);
  return (body.events as { event_type: string; payload: Record<string, unknown> }[])
    .filter((event) => event.event_type === 'session_started')
    .map(({ payload }) => payload);
}

// The run as it is shown, which is of many shapes.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
async function succeeded(runId: string): Promise<any> {
  const run = await installation.waitFor(runId, ENDED, 60_000);
  expect(run.state, JSON.stringify(run.status_message)).toBe('SUCCEEDED');
  return run;
}

const create = (id: string, prompt: string, config: object = {}): Promise<string> =>
  installation.createRun(prompt, {
    config: {
      harness: { type: id, model_id: id === 'opencode' ? `test/${MODEL}` : MODEL },
      harness_auth_secrets: { [`${id}_auth_secret_name`]: 'model-key' },
      ...config,
    },
  });

const askedOf = (from: number): string =>
  models.requests
    .slice(from)
    .map(({ body }) => body)
    .join('\n');

describe.skipIf(skipReason !== null)('real agents', { timeout: 120_000 }, () => {
  const agents = installedAgents();

  it('lists at least three installed agents with their versions', async () => {
    expect(agents.length).toBeGreaterThanOrEqual(3);
    const { status, body } = await installation.call('GET', '/agent/harnesses');
    expect(status).toBe(200);
    for (const { id, version } of agents) {
      const reported = (body.harnesses as { id: string; installations: object[] }[]).find(
        (harness) => harness.id === id,
      );
      expect(reported?.installations).toEqual([
        { location: 'hosted', installed: true, version, last_seen_at: expect.any(String) },
      ]);
    }
  });

  describe.each(agents)('$id $version', ({ id }) => {
    it('edits a file, resumes its session in another process if it supports that, and exposes no secret', async () => {
      const from = models.requests.length;
      const runId = await create(
        id,
        `Keep in mind: heliotrope.\nRUN: printf 'made by %s' ${id} > made.txt && cat made.txt`,
      );
      const run = await succeeded(runId);
      expect(run.request_usage.total_tokens).toBeGreaterThanOrEqual(120);

      const blocks = await blocksOf(runId);
      expect(blocks).toContainEqual(expect.objectContaining({ type: 'action', name: 'run_command' }));
      const results = blocks.filter(({ type }) => type === 'action_result');
      expect(results).toHaveLength(1);
      expect(results[0]).toMatchObject({ name: 'run_command', state: 'completed' });
      // Gemini's tool output gets lost on its way over the protocol.
      if (id !== 'gemini') expect(JSON.stringify(results[0])).toContain(`made by ${id}`);
      expect(askedOf(from)).toContain(`made by ${id}`);
      expect(blocks.some(({ type, text }) => type === 'text' && String(text).includes('The command has run.'))).toBe(
        true,
      );
      const asked = models.requests.slice(from).filter(({ tools }) => tools.length > 0);
      expect(new Set(asked.map(({ model }) => model))).toEqual(new Set([MODEL]));
      expect(asked.every(({ headers }) => JSON.stringify(headers).includes(SECRET))).toBe(true);
      const [session] = await sessionsOf(runId);
      expect(session).toMatchObject({ resumed: false, agent_name: expect.any(String) });
      expect(session).not.toHaveProperty('warnings');

      const before = models.requests.length;
      const followup = await installation.call('POST', `/agent/runs/${runId}/followups`, {
        message: 'What did I ask you to keep in mind?',
      });
      expect(followup).toMatchObject({ status: 200, body: { outcome: 'handoff_execution' } });
      const { request_usage: usage } = await succeeded(runId);
      // Each turn counts once, whatever the agent says of the session that it has loaded.
      expect(usage.total_tokens).toBe(run.request_usage.total_tokens + 120);
      // Whatever is asked counts, by the way too, and none of it twice.
      if (id === 'claude') {
        const costOfOne = run.request_usage.inference_cost_usd / 3;
        expect(usage.inference_cost_usd).toBeGreaterThan(run.request_usage.inference_cost_usd);
        expect(usage.inference_cost_usd).toBeLessThanOrEqual(costOfOne * models.requests.slice(from).length);
      }
      const sessions = await sessionsOf(runId);
      expect(sessions).toHaveLength(2);
      if (RESUMES.includes(id)) {
        expect(sessions[1]).toMatchObject({ resumed: true, session_id: sessions[0]?.['session_id'] });
        expect(askedOf(before)).toContain('heliotrope');
      } else
        expect(sessions[1]).toMatchObject({
          resumed: false,
          warnings: [expect.stringContaining('a new session was started')],
        });

      const { body: conversation } = await installation.call('GET', `/agent/runs/${runId}/conversation`);
      expect(JSON.stringify(conversation)).not.toContain(SECRET);
      const transcript = await installation.call('GET', `/agent/runs/${runId}/transcript`);
      expect(transcript.status).toBe(RESUMES.includes(id) ? 302 : 404);
      if (transcript.status === 302) {
        const text = await (await fetch(transcript.headers.get('location') ?? '')).text();
        expect(text).toContain('heliotrope');
        expect(text).not.toContain(SECRET);
      }
    });

    it('continues in a fork with the files, and with its session if it supports that, and so does another agent', async () => {
      const runId = await create(id, `Keep in mind: heliotrope.\nRUN: echo of the source > kept.txt`);
      await succeeded(runId);
      const [other] = agents.filter((agent) => agent.id !== id);
      const config = other && {
        harness: { type: other.id },
        model_id: other.id === 'opencode' ? `test/${MODEL}` : MODEL,
        harness_auth_secrets: { [`${other.id}_auth_secret_name`]: 'model-key' },
      };
      for (const [changes, resumes] of [
        [{}, RESUMES.includes(id)],
        [{ config }, false],
      ] as const) {
        const from = models.requests.length;
        const prompt = 'RUN: cat kept.txt; echo of a fork >> kept.txt';
        const { status, body } = await installation.call('POST', `/agent/runs/${runId}/fork`, { prompt, ...changes });
        expect(status, JSON.stringify(body)).toBe(200);
        const [{ run_id: forkId }] = body.runs as [{ run_id: string }];
        await succeeded(forkId);
        // With its session, or with the summary of the conversation.
        expect(askedOf(from)).toContain('heliotrope');
        expect(askedOf(from)).toContain('of the source');
        if (resumes) expect(await sessionsOf(forkId)).toMatchObject([{ resumed: true }]);
        const file = await installation.call('GET', `/agent/runs/${forkId}/files?path=kept.txt`);
        expect(file.body).toBe('of the source\nof a fork\n');
      }
    });

    it('connects to the configured MCP servers and stops when its run is cancelled during a turn', async () => {
      const places = await McpPlaces.start();
      const from = models.requests.length;
      try {
        const runId = await create(id, 'HANG', { mcp_servers: places.servers });
        await models.until(() => models.hanging > 0, 'a request of the agent to the model', 60_000);
        const asked = models.requests.slice(from);
        expect(asked.every(({ userText }) => userText.includes('report_artifact'))).toBe(true);
        // Some agents offer the tools of MCP servers to the model only when it searches for them.
        const offered = asked.flatMap(({ tools }) => tools.map(({ name }) => name)).join(' ');
        expect(offered).toMatch(/headrace|tool_?search/i);
        await places.untilFound(['stdio', 'http']);
        await installation.waitFor(runId, ['INPROGRESS']);
        const answer = await installation.call('POST', `/agent/runs/${runId}/cancel`);
        expect(answer).toMatchObject({ status: 200, body: runId });
        await models.until(() => models.hanging === 0, 'the agent to close its request to the model');
        expect(await installation.run(runId)).toMatchObject({ state: 'CANCELLED' });
      } finally {
        await places.stop();
      }
    });
  });

  it('denies a command that the permission policy denies', async () => {
    const runId = await create('claude', 'RUN: touch forbidden.txt', { permission_policy: 'deny' });
    await succeeded(runId);
    const blocks = await blocksOf(runId);
    expect(blocks.filter(({ type }) => type === 'action_result')).toEqual([
      expect.objectContaining({ name: 'run_command', state: 'denied' }),
    ]);
  });
});

// A reason that can be read in the report, instead of an empty file.
if (skipReason !== null) it.skip(`real agents are not tested: ${skipReason}`, () => undefined);
