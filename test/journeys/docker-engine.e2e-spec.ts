import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort, Installation, type Program, until } from '../support/installation.js';

const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
const IMAGE = process.env.HEADRACE_TEST_DOCKER_IMAGE ?? 'debian:bookworm-slim';
const dockerHost = process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock';
const sh = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;

/** Sends a GET request to the engine at DOCKER_HOST, which must be a Unix socket. Rejects when no engine answers. */
function getFromEngine<T>(path: string): Promise<T> {
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

const reason = await getFromEngine('/version').then(
  () => null,
  (error: Error) => `no Docker Engine answers at ${dockerHost}: ${error.message}`,
);

if (reason !== null)
  describe.skip(`Docker Engine (${reason})`, () => it('executes runs in containers', () => undefined));

describe.runIf(reason === null)(`Docker Engine at ${dockerHost}`, { timeout: 300_000 }, () => {
  let installation: Installation;
  let server: Program;
  let environmentUid: string;

  beforeAll(async () => {
    const port = String(await freePort());
    installation = await Installation.create({
      EXECUTOR: 'docker',
      DOCKER_HOST: dockerHost,
      PORT: port,
      // Containers connect over the bridge network.
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

  const ownContainers = async (): Promise<unknown[]> => {
    const filters = encodeURIComponent(JSON.stringify({ label: ['io.headrace.installation'] }));
    return getFromEngine<unknown[]>(`/containers/json?all=1&filters=${filters}`);
  };
  const start = (script: string): Promise<string> =>
    installation.createRun(sh(script), { config: { environment_id: environmentUid } });

  it('executes a run in a container without privileges and removes the container', async () => {
    const runId = await start('cat made; grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status; hostname');
    expect(await installation.waitFor(runId, ENDED, 240_000)).toMatchObject({ state: 'SUCCEEDED' });
    const { body } = await installation.call('GET', `/agent/runs/${runId}/conversation`);
    const reported = JSON.stringify(body);
    expect(reported).toMatch(/made/);
    expect(reported).toMatch(/CapEff:(\\t|\s)*0000000000000000/);
    expect(reported).toMatch(/CapBnd:(\\t|\s)*0000000000000000/);
    expect(reported).toMatch(/NoNewPrivs:(\\t|\s)*1/);
    await until(async () => (await ownContainers()).length === 0, 30_000, 'the removal of the container');
  });

  it('removes the container of a cancelled run', async () => {
    const runId = await start('echo at work; sleep 300');
    await installation.waitFor(runId, ['INPROGRESS'], 120_000);
    expect((await installation.call('POST', `/agent/runs/${runId}/cancel`)).status).toBe(200);
    await until(async () => (await ownContainers()).length === 0, 60_000, 'the removal of the container');
  });

  it('fails a run whose image does not exist with a message that names the image', async () => {
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

  it('passes the checks of headrace doctor for API, executor and container', async () => {
    const text = await installation.shell('headrace doctor --json || true', tmpdir());
    const { checks } = JSON.parse(text) as { checks: { check: string; verdict: string }[] };
    for (const name of ['api', 'executor', 'container'])
      expect(checks.find(({ check }) => check === name)).toMatchObject({ verdict: 'ok' });
  });
});
