import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answersIn, type Answer, Installation, type Program, until } from '../support/installation.js';
import { OtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.js';
import { createScriptedHarness, type ScriptedHarness } from '../support/scripted-harness.js';

const RECEIVER_TOKEN = randomBytes(12).toString('hex');
const GEN_AI_SCHEMA = 'https://opentelemetry.io/schemas/1.41.0';
const SECRET_TEXT = `content-${randomBytes(8).toString('hex')}`;
const CONFIG = { harness: { type: 'scripted', model_id: 'claude-opus-4-5' } };

const hex = (bytes: number): string => randomBytes(bytes).toString('hex');
const tool = (status: string, fields: object = {}) => ({
  update: {
    sessionUpdate: status === 'pending' ? 'tool_call' : 'tool_call_update',
    toolCallId: 'call-1',
    status,
    ...fields,
  },
});
/** What the agent does: its environment and the `_meta` that it got, and one call of a tool, with content that is not exported. */
const STEPS = [
  { run: 'env | grep -E "^(TRACEPARENT|OTEL)"' },
  { meta: true },
  tool('pending', { title: `cat ${SECRET_TEXT}`, kind: 'execute', rawInput: { command: SECRET_TEXT } }),
  tool('completed', { rawOutput: SECRET_TEXT }),
  { say: SECRET_TEXT },
  { tokens: 120 },
];

/** Notes each part of the bundle that a process loads. */
const RECORDER = `
const { appendFileSync, readFileSync } = require('node:fs');
const fs = require('node:fs');
fs.readFileSync = (path, ...rest) => {
  if (String(path).includes('/dist/chunks/')) appendFileSync(process.env.LOADED_FILE, path + '\\n');
  return readFileSync(path, ...rest);
};`;

let harness: ScriptedHarness;
let receiver: OtlpReceiver;
let installation: Installation;
let server: Program;

const up = async (name: string, settings: Record<string, string> = {}): Promise<Program> => {
  const recorder = join(harness.directory, 'recorder.cjs');
  writeFileSync(recorder, RECORDER);
  const program = installation.start('up', {
    NODE_OPTIONS: `--require=${recorder}`,
    LOADED_FILE: join(harness.directory, name),
    ...settings,
  });
  await program.says('Headrace is ready.');
  return program;
};
const loadedBy = (name: string): string => readFileSync(join(harness.directory, name), 'utf8');

beforeAll(async () => {
  harness = createScriptedHarness();
  receiver = await OtlpReceiver.start();
  installation = await Installation.create({
    HARNESSES_FILE: harness.file,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_HEADERS: `x-receiver-token=${RECEIVER_TOKEN}`,
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test%20place',
    OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
    OTEL_LOGS_EXPORTER: 'otlp',
  });
  server = await up('traced');
});
afterAll(async () => {
  await server.stop();
  await receiver.stop();
  installation.remove();
  rmSync(harness.directory, { recursive: true, force: true });
});

const named = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan => {
  const [found, ...others] = spans.filter((span) => span.name === name);
  if (!found || others.length > 0)
    throw new Error(`${others.length + (found ? 1 : 0)} spans ${name}: ${spans.map((span) => span.name).join(', ')}`);
  return found;
};

const created = ({ status, body, headers }: Answer): { readonly traceId: string; readonly runId: string } => {
  expect(status).toBe(200);
  return { traceId: headers.get('x-trace-id') ?? '', runId: body.run_id as string };
};
const runsIn = (traceId: string): ReceivedSpan[] => receiver.spansOf(traceId).filter(({ name }) => name === 'run');

const answersOf = async (runId: string): Promise<string> =>
  answersIn((await installation.call('GET', `/agent/runs/${runId}/conversation`)).body);

describe('telemetry', { timeout: 120_000 }, () => {
  it('continues the trace of the sender of a delivery, to the agent and its tools', async () => {
    const factory = `/factories/${installation.connection.factory_uid}`;
    const { body: webhook } = await installation.call('POST', `${factory}/webhooks`, { name: 'builds' });
    const automation = {
      name: 'traced',
      enabled: true,
      prompt: JSON.stringify(STEPS),
      agent_config: CONFIG,
      triggers: [{ provider: 'webhook', event: 'received', filter: { webhook_ids: [webhook.uid] } }],
    };
    expect((await installation.call('POST', `${factory}/automations`, automation)).status).toBe(201);
    const [traceId, senderSpan] = [hex(16), hex(8)];
    const delivered = await fetch(webhook.ingress_url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${webhook.secret}`,
        traceparent: `00-${traceId}-${senderSpan}-01`,
      },
      body: '{}',
    });
    expect(delivered.status).toBe(202);
    const spans = await receiver.waitFor(traceId, 'run');

    // The whole tree.
    const delivery = named(spans, 'POST /webhooks/w/:uid');
    const creation = named(spans, 'create_run');
    const run = named(spans, 'run');
    const turn = named(spans, 'invoke_agent scripted');
    const call = named(spans, 'execute_tool execute');
    const [queue, setup] = [named(spans, 'queue'), named(spans, 'setup')];
    expect(spans).toHaveLength(7);
    expect(delivery.parentSpanId).toBe(senderSpan);
    expect(creation.parentSpanId).toBe(delivery.spanId);
    expect(run.parentSpanId).toBe(creation.spanId);
    for (const part of [queue, setup, turn]) expect(part.parentSpanId).toBe(run.spanId);
    expect(call.parentSpanId).toBe(turn.spanId);
    const times = [delivery, creation, run, setup, turn, call].map(({ startedAt }) => startedAt);
    times.push(...[call, turn, run].map(({ endedAt }) => endedAt));
    // The clocks of processes and of the database are read in turns.
    expect(times).toEqual([...times].sort((one, other) => (one < other ? -1 : 1)));
    expect(queue.endedAt <= setup.startedAt).toBe(true);

    // Attributes.
    const runId = String(run.attributes['headrace.run.id']);
    expect(delivery).toMatchObject({
      kind: 'server',
      attributes: {
        'http.request.method': 'POST',
        'http.response.status_code': 202,
        'headrace.webhook.uid': webhook.uid,
        'headrace.delivery.outcome': 'accepted',
      },
      resource: { 'service.name': 'headrace', 'deployment.environment.name': 'test place' },
    });
    expect(run).toMatchObject({
      isError: false,
      attributes: { 'headrace.run.end': 'done', 'headrace.run.source': 'CUSTOM_WEBHOOK' },
    });
    const { body: shown } = await installation.call('GET', `/agent/runs/${runId}`);
    expect(turn).toMatchObject({
      kind: 'client',
      isError: false,
      schemaUrl: GEN_AI_SCHEMA,
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.provider.name': 'anthropic',
        'gen_ai.agent.name': 'scripted',
        'gen_ai.request.model': 'claude-opus-4-5',
        'gen_ai.conversation.id': shown.conversation_id,
        'gen_ai.usage.input_tokens': 120,
        'gen_ai.usage.output_tokens': 0,
        'gen_ai.response.finish_reasons': ['end_turn'],
      },
    });
    expect(call).toMatchObject({
      kind: 'internal',
      schemaUrl: GEN_AI_SCHEMA,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'execute',
        'gen_ai.tool.call.id': 'call-1',
      },
    });

    // What the agent got.
    const said = await answersOf(runId);
    expect(said).toContain(`TRACEPARENT=00-${traceId}-${run.spanId}-01`);
    expect(said).not.toContain('OTEL');
    expect(said).toContain(`00-${traceId}-${turn.spanId}-01`);

    // No content, and no secret.
    const received = Buffer.concat(receiver.bytes).toString('latin1');
    expect(received).not.toContain(SECRET_TEXT);
    expect(received).not.toContain(webhook.secret);
    expect(receiver.headers.every((headers) => headers['x-receiver-token'] === RECEIVER_TOKEN)).toBe(true);
    expect(server.text).not.toContain(RECEIVER_TOKEN);
    expect(loadedBy('traced')).toContain('/open-telemetry-');
  });

  it('begins a trace for a request, to which its runs, their messages and the lines of the log belong', async () => {
    const tool = `\`\`\`tool name=start_run\n${JSON.stringify({ prompt: 'Say nothing.' })}\n\`\`\``;
    const { traceId, runId } = created(await installation.call('POST', '/agent/runs', { prompt: tool }));
    await installation.waitFor(runId, ['SUCCEEDED']);
    await until(() => Promise.resolve(runsIn(traceId).length === 2), 20_000, 'Both runs are exported');
    await installation.call('POST', `/agent/runs/${runId}/followups`, { message: 'Say nothing again.' });
    const turns = () => receiver.spansOf(traceId).filter(({ name }) => name === 'invoke_agent oz');
    await until(() => Promise.resolve(turns().length === 3), 20_000, 'The turn of the message is exported');

    const spans = receiver.spansOf(traceId);
    const request = named(spans, 'POST /api/v1/agent/runs');
    expect(request).toMatchObject({ parentSpanId: '', kind: 'server', isError: false });
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    const pathTo = (span: ReceivedSpan | undefined): string[] =>
      span === undefined ? [] : [...pathTo(byId.get(span.parentSpanId)), span.name];
    const child = runsIn(traceId).find((span) => span.attributes['headrace.run.id'] !== runId);
    const start = 'POST /api/v1/runner/v1/executions/:executionId/runs';
    expect(pathTo(child)).toEqual(['POST /api/v1/agent/runs', 'create_run', 'run', start, 'create_run', 'run']);
    const own = turns().filter(({ attributes }) => attributes['headrace.run.id'] === runId);
    expect(own.map(pathTo)).toEqual(Array(2).fill(['POST /api/v1/agent/runs', 'create_run', 'run', 'invoke_agent oz']));

    const lines = () => receiver.logs.filter((log) => log.spanId === request.spanId);
    await until(() => Promise.resolve(lines().length > 0), 20_000, 'The line of the request');
    expect(lines()).toEqual([
      {
        body: 'request',
        severity: 'info',
        traceId,
        spanId: request.spanId,
        isSampled: true,
        attributes: expect.objectContaining({ logger: 'Http', status: 200, route: 'POST /api/v1/agent/runs' }),
      },
    ]);
  });

  it('exports no span of a trace that its sender does not sample, marks its log lines, and passes it on', async () => {
    const traceId = hex(16);
    const response = await fetch(`${installation.connection.base_url}/agent/runs`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${installation.connection.token}`,
        'content-type': 'application/json',
        traceparent: `00-${traceId}-${hex(8)}-00`,
      },
      body: JSON.stringify({ prompt: JSON.stringify(STEPS), config: CONFIG }),
    });
    const { run_id: runId } = (await response.json()) as { run_id: string };
    await installation.waitFor(runId, ['SUCCEEDED']);
    expect(await answersOf(runId)).toMatch(new RegExp(`TRACEPARENT=00-${traceId}-[0-9a-f]{16}-00`));
    // Spans are exported in the order of their ends.
    const later = created(await installation.call('POST', '/agent/runs', { prompt: 'Say nothing.' }));
    await receiver.waitFor(later.traceId, 'run');
    expect(receiver.spansOf(traceId)).toEqual([]);
    const lines = () => receiver.logs.filter((log) => log.traceId === traceId && log.body === 'request');
    await until(() => Promise.resolve(lines().length > 0), 20_000, 'The line of the request');
    expect(lines().map(({ isSampled }) => isSampled)).not.toContain(true);
  });

  it('works without its receiver, and reports it once', async () => {
    receiver.isSilent = true;
    const runId = await installation.createRun(JSON.stringify(STEPS), { config: CONFIG });
    await installation.waitFor(runId, ['SUCCEEDED']);
    await server.says('Traces cannot be exported');
    const began = performance.now();
    await server.stopCleanly();
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(server.text.split('Traces cannot be exported')).toHaveLength(2);
    expect(server.text.split('Logs cannot be exported').length).toBeLessThanOrEqual(2);
  });

  it('is not even loaded without an endpoint', async () => {
    receiver.isSilent = false;
    const before = receiver.bytes.length;
    server = await up('plain', { OTEL_EXPORTER_OTLP_ENDPOINT: '' });
    const runId = await installation.createRun(JSON.stringify(STEPS.slice(1)), { config: CONFIG });
    await installation.waitFor(runId, ['SUCCEEDED']);
    expect(await answersOf(runId)).toContain('meta undefined undefined');
    await server.stopCleanly();
    expect(loadedBy('plain')).toContain('/prom-client-');
    expect(loadedBy('plain')).not.toContain('open-telemetry');
    expect(receiver.bytes).toHaveLength(before);
  });
});
