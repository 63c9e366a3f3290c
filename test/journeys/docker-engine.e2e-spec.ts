import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort, Installation, type Program, until } from '../support/installation.js';

const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
const IMAGE = process.env.HEADRACE_TEST_DOCKER_IMAGE ?? 'debian:bookworm-slim';
const dockerHost = process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock';
const sh = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;

/** Asks the engine at DOCKER_HOST; rejects when there is none. Sockets only. */
function ask<T>(path: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath: dockerHost.replace('unix://', ''), path, timeout: 2000 }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve(JSON.parse(text) as T));
    });
    call.on('timeout', () => call.destroy(new Error('no answer')));
    call.on('error', reject);
    call.end();
  });
}

const reason = await ask('/version').then(
  () => null,
  (error: Error) => `no Docker Engine answers at ${dockerHost}: ${error.message}`,
);

if (reason !== null) describe.skip(`a real engine (${reason})`, () => it('runs containers', () => undefined));

describe.runIf(reason === null)(`a real engine at ${dockerHost}`, { timeout: 300_000 }, () => {
  let installation: Installation;
  let server: Program;
  let environmentUid: string;

  beforeAll(async () => {
    const port = String(await freePort());
    installation = await Installation.create({
      EXECUTOR: 'docker',
      DOCKER_HOST: dockerHost,
      PORT: port,
      // Containers come in over the bridge.
      HOST: '0.0.0.0',
      RUNNER_API_URL: `http://host.docker.internal:${port}`,
      LEASE_TTL: '30s',
      MAX_IDLE_SESSIONS: '0',
    });
    server = await installation.up();
    const config = { name: 'real', docker_image: IMAGE, setup_commands: ['echo made > made'] };
    environmentUid = (await installation.call('POST', '/environments', { config })).body.uid as string;
  });

  afterAll(async () => {
    await server.stop('SIGTERM');
    installation.remove();
  });

  const ours = async (): Promise<unknown[]> => {
    const filters = encodeURIComponent(JSON.stringify({ label: ['io.headrace.installation'] }));
    return ask<unknown[]>(`/containers/json?all=1&filters=${filters}`);
  };
  const start = (script: string): Promise<string> =>
    installation.createRun(sh(script), { config: { environment_id: environmentUid } });

  it('runs an execution without privileges, and keeps nothing of it', async () => {
    const runId = await start('cat made; grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status; hostname');
    expect(await installation.waitFor(runId, ENDED, 240_000)).toMatchObject({ state: 'SUCCEEDED' });
    const { body } = await installation.call('GET', `/agent/runs/${runId}/conversation`);
    const reported = JSON.stringify(body);
    expect(reported).toMatch(/made/);
    expect(reported).toMatch(/CapEff:(\\t|\s)*0000000000000000/);
    expect(reported).toMatch(/CapBnd:(\\t|\s)*0000000000000000/);
    expect(reported).toMatch(/NoNewPrivs:(\\t|\s)*1/);
    await until(async () => (await ours()).length === 0, 30_000, 'the removal of the container');
  });

  it('ends a container when its run is cancelled', async () => {
    const runId = await start('echo at work; sleep 300');
    await installation.waitFor(runId, ['INPROGRESS'], 120_000);
    expect((await installation.call('POST', `/agent/runs/${runId}/cancel`)).status).toBe(200);
    await until(async () => (await ours()).length === 0, 60_000, 'the removal of the container');
  });

  it('says what the registry says of an image that is not there', async () => {
    const config = { name: 'missing', docker_image: 'headrace.invalid/no/such:image' };
    const { body } = await installation.call('POST', '/environments', { config });
    const runId = await installation.createRun(sh('echo never'), { config: { environment_id: body.uid } });
    expect(await installation.waitFor(runId, ENDED, 120_000)).toMatchObject({
      state: 'FAILED',
      status_message: {
        error_code: 'environment_setup_failed',
        message: expect.stringContaining('headrace.invalid/no/such:image'),
      },
    });
  });

  it('is found healthy by doctor, which starts a container that calls the API', async () => {
    const text = await installation.shell('headrace doctor --json || true', tmpdir());
    const { checks } = JSON.parse(text) as { checks: { check: string; verdict: string }[] };
    for (const name of ['api', 'executor', 'container'])
      expect(checks.find(({ check }) => check === name)).toMatchObject({ verdict: 'ok' });
  });
});
