import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createDatabaseProxy, createTestDatabase, type TestDatabase } from '#testing';
import { freePort, Installation, until } from '../support/installation.js';

const MAX_OFFERS = 5;

let close: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of close.reverse()) await step();
  close = [];
});

async function testDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  close.push(() => database.close());
  return database;
}

async function up(settings: Record<string, string>) {
  const installation = await Installation.create(settings);
  const server = await installation.up();
  close.push(async () => {
    await server.stop();
    installation.remove();
  });
  return { installation, server };
}

/** Creates a self-signed certificate for a name other than 127.0.0.1. Returns null when openssl is missing. */
function makeCertificate(directory: string): { TLS_CERT_FILE: string; TLS_KEY_FILE: string } | null {
  const files = { TLS_CERT_FILE: join(directory, 'cert.pem'), TLS_KEY_FILE: join(directory, 'key.pem') };
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', files.TLS_KEY_FILE];
  const certificate = ['-subj', '/CN=headrace', '-addext', 'subjectAltName=DNS:headrace.example', '-days', '2'];
  try {
    execFileSync('openssl', ['req', '-x509', ...key, ...certificate, '-out', files.TLS_CERT_FILE], { stdio: 'ignore' });
    return files;
  } catch {
    return null;
  }
}

interface ApiResponse {
  readonly status: number;
  readonly body: { readonly run_id: string; readonly state: string };
}

/** Calls the API as a client that trusts the certificate for its name. */
function callHttps(url: string, ca: string, method: string, token: string, body?: object): Promise<ApiResponse> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const sent = request(url, { method, headers, ca, servername: 'headrace.example', agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as ApiResponse['body'] }),
      );
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

describe('API with TLS_CERT_FILE', () => {
  it('executes runs over RUNNER_API_PORT on loopback, which answers other routes with 404', async ({ skip }) => {
    const database = await testDatabase();
    const directory = await mkdtemp(join(tmpdir(), 'headrace-tls-'));
    close.push(() => rm(directory, { recursive: true }));
    const files = makeCertificate(directory);
    if (files === null) return skip('openssl is missing');
    const RUNNER_API_PORT = String(await freePort());
    const { installation } = await up({ DATABASE_URL: database.url, RUNNER_API_PORT, ...files });
    const { base_url: base, token } = installation.connection;
    expect(base).toMatch(/^https:/);
    const ca = readFileSync(files.TLS_CERT_FILE, 'utf8');
    const { body: created } = await callHttps(`${base}/agent/runs`, ca, 'POST', token, {
      prompt: '```sh\necho over loopback\n```',
    });
    await until(
      async () => {
        const { state } = (await callHttps(`${base}/agent/runs/${created.run_id}`, ca, 'GET', token)).body;
        if (state === 'ERROR' || state === 'FAILED') throw new Error(`The run ended ${state}.`);
        return state === 'SUCCEEDED';
      },
      20_000,
      'the success of the run',
    );
    const statusOf = async (path: string): Promise<number> =>
      (await fetch(`http://127.0.0.1:${RUNNER_API_PORT}${path}`, { headers: { authorization: `Bearer ${token}` } }))
        .status;
    expect(await Promise.all(['/health/live', '/api/v1/agent/runs', '/docs', '/'].map(statusOf))).toEqual([
      200, 404, 404, 404,
    ]);
  });
});

describe('runners without a connection to the API', () => {
  it('names RUNNER_API_URL in the status message of the run and in the log when runners cannot reach the API', async () => {
    const database = await testDatabase();
    // The first offer of a run is also the last one that is allowed.
    await database.query(`ALTER TABLE headrace.runs ALTER COLUMN offers SET DEFAULT ${MAX_OFFERS - 1}`);
    const { installation, server } = await up({
      DATABASE_URL: database.url,
      RUNNER_API_URL: 'http://127.0.0.1:1',
      CLAIM_DEADLINE: '1s',
    });
    const run = await installation.waitFor(await installation.createRun('Look around.'), ['ERROR'], 25_000);
    const hint = 'The runner could not reach the API at http://127.0.0.1:1 (RUNNER_API_URL).';
    expect(run.status_message).toMatchObject({ error_code: 'resource_unavailable', retryable: true });
    expect(run.status_message.message).toBe(
      `The run was offered ${MAX_OFFERS} times and no worker started it. ${hint}`,
    );
    const lines = server.text.split('\n').filter((line) => line.includes('"runner ended"'));
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 'warn', msg: 'runner ended', code: 69, hint, execution_id: expect.any(String) },
    ]);
  });
});

describe('log of a server without a database', () => {
  it('logs each warning once while requests and polls fail repeatedly', async () => {
    const database = await testDatabase();
    const proxy = await createDatabaseProxy(database.url);
    close.push(() => proxy.close());
    const { installation, server } = await up({ DATABASE_URL: proxy.url });
    const before = server.text.length;
    await proxy.cut();
    for (let count = 0; count < 200; count += 1)
      expect((await installation.call('GET', '/agent/runs')).status).toBe(503);
    await proxy.restore();
    await until(async () => (await installation.call('GET', '/agent/runs')).status === 200);
    const lines = server.text
      .slice(before)
      .split('\n')
      .filter((line) => /^\{.*"level":"(warn|error)"/.test(line))
      .map((line) => JSON.parse(line) as { logger?: string; msg: string; repeated?: number });
    const first = lines.filter(({ repeated }) => repeated === undefined).map(({ logger, msg }) => `${logger}: ${msg}`);
    expect(first).toContainEqual(expect.stringMatching(/^Database: The database is unavailable: .*ECONN/));
    expect(first.filter((line, index) => first.indexOf(line) !== index)).toEqual([]);
    expect(lines.length).toBeLessThan(60);
  });
});
