import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DockerEngineDouble } from '../support/docker-engine-double.js';
import { freePort, Installation, isAlive, type Program, tick, until } from '../support/installation.js';
import { Witness } from '../support/witness.js';
import { isLong } from '../support/long-tests.js';

const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];
const CLAIM_DEADLINE_MS = 2000;
const sh = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;

const engine = new DockerEngineDouble();
let installation: Installation;
let server: Program;
let witness: Witness;

beforeAll(async () => {
  witness = new Witness();
  engine.images.set('node:22-bookworm', {});
  engine.processors = 1;
  await engine.up();
  const port = String(await freePort());
  installation = await Installation.create({
    EXECUTOR: 'docker',
    DOCKER_HOST: engine.host,
    PORT: port,
    RUNNER_API_URL: `http://host.docker.internal:${port}`,
    CLAIM_DEADLINE: `${CLAIM_DEADLINE_MS}ms`,
    DOCKER_MEMORY_BYTES: String(512 * 1_048_576),
    DOCKER_PIDS: '200',
    DOCKER_NETWORK: 'agents',
    DOCKER_RUNTIME: 'runc',
    MAX_IDLE_SESSIONS: '0',
    MAX_CONCURRENT_RUNS: '2',
    MAX_CONCURRENT_RUNS_PER_TEAM: '2',
  });
  server = await installation.up();
});

afterAll(async () => {
  await server.stop('SIGTERM');
  await engine.close();
  installation.remove();
  witness.remove();
});

async function runIn(image: string | undefined, script: string): Promise<{ runId: string; environmentUid: string }> {
  const config = { name: 'docker', ...(image !== undefined && { docker_image: image }) };
  const environment = await installation.call('POST', '/environments', { config });
  expect(environment.status).toBe(201);
  const environmentUid = environment.body.uid as string;
  return {
    runId: await installation.createRun(sh(script), { config: { environment_id: environmentUid } }),
    environmentUid,
  };
}

const conversationOf = async (runId: string): Promise<string> =>
  JSON.stringify((await installation.call('GET', `/agent/runs/${runId}/conversation`)).body);

const startWitnessed = async (seconds: number): Promise<string> => {
  const before = witness.spans().length;
  const runId = await installation.createRun(sh(witness.script(seconds)));
  await until(() => witness.spans()[before], 20_000, 'the start of the agent');
  return runId;
};

const noContainerIsLeft = (timeoutMs = 20_000): Promise<unknown> =>
  until(() => engine.containers.size === 0, timeoutMs, 'the removal of the container');

describe('docker executor', { timeout: 90_000 }, () => {
  it('creates a container without privileges and with resource limits, and sends no secret to the engine', async () => {
    const { runId } = await runIn(undefined, 'echo done');
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
    await noContainerIsLeft();
    const asked = engine.asked.findLast(({ path }) => path === '/containers/create');
    const body = JSON.parse(asked?.body ?? '{}');
    expect(body).toMatchObject({
      Image: 'sha256:node:22-bookworm',
      Tty: false,
      Labels: {
        'io.headrace.installation': expect.stringMatching(/^[0-9a-f]{12}$/),
        'io.headrace.execution': expect.stringMatching(/^\d+$/),
      },
      HostConfig: {
        Runtime: 'runc',
        Privileged: false,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges'],
        Init: true,
        AutoRemove: false,
        Memory: 512 * 1_048_576,
        MemorySwap: 512 * 1_048_576,
        // The default is two processors, but the machine of the engine has one.
        NanoCpus: 1e9,
        PidsLimit: 200,
        NetworkMode: 'agents',
        ExtraHosts: ['host.docker.internal:host-gateway'],
        LogConfig: { Type: 'none' },
      },
    });
    for (const forbidden of ['CapAdd', 'Binds', 'Devices', 'PidMode', 'UsernsMode', 'PortBindings', 'VolumesFrom'])
      expect(body.HostConfig).not.toHaveProperty(forbidden);
    const mounts = body.HostConfig.Mounts as { Source: string; Target: string; ReadOnly: boolean }[];
    expect(mounts.map(({ Target }) => Target).sort()).toEqual([
      '/opt/headrace/bin/node',
      '/opt/headrace/dist',
      '/opt/headrace/node_modules',
      '/opt/headrace/package.json',
    ]);
    for (const { ReadOnly, Source } of mounts) {
      expect(ReadOnly).toBe(true);
      expect(installation.dataDir.startsWith(Source)).toBe(false);
    }
    const [handover] = engine.handedOver.map((line) => JSON.parse(line) as { token: string; marker: string });
    expect(handover?.token).toMatch(/^hrx_\d+_/);
    const reported = engine.asked.map(
      ({ path, query, body: text, headers }) => `${path}?${query.toString()} ${text} ${JSON.stringify(headers)}`,
    );
    for (const secret of [handover?.token ?? '-', handover?.marker ?? '-', installation.connection.token])
      expect(reported.join('\n')).not.toContain(secret);
  });

  it('pulls the image of an environment once, keeps the run pending meanwhile, and passes the variables of the image to the agent', async () => {
    let finishPull = (): void => undefined;
    const after = new Promise<void>((resolve) => {
      finishPull = resolve;
    });
    const image = { env: ['TOOLCHAIN=stable-9', 'HOME=/elsewhere'] };
    engine.registry.set('registry.example.com:5000/team/tools:1.2', { image, after });
    const { runId } = await runIn('registry.example.com:5000/team/tools:1.2', 'echo "$TOOLCHAIN in $HOME"');
    const second = await runIn('registry.example.com:5000/team/tools:1.2', 'echo "also $TOOLCHAIN"');
    const pulls = (): number => engine.asked.filter(({ path }) => path === '/images/create').length;
    await until(() => pulls() > 0, 20_000, 'the pull');
    const since = performance.now();
    await until(() => performance.now() - since > 2.5 * CLAIM_DEADLINE_MS, 10_000, 'the expiry of CLAIM_DEADLINE');
    expect(await installation.run(runId)).toMatchObject({ state: 'PENDING' });
    finishPull();
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
    expect(await installation.waitFor(second.runId, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
    expect(pulls()).toBe(1);
    expect(await conversationOf(runId)).toMatch(/stable-9 in \/[^"]*\/headrace\/workspace\/home/);
    expect(await conversationOf(second.runId)).toContain('also stable-9');
  });

  it.each([
    ['no-such/image:1', null, /no-such\/image:1 .*pull access denied for no-such\/image/],
    ['broken/image', { streamed: 'unexpected EOF from the registry' }, /broken\/image .*unexpected EOF/],
    [
      'secret.example.com/a',
      { status: 500, message: 'Head "https://secret.example.com/v2/": unauthorized' },
      /unauthorized/,
    ],
    ['Not an Image', null, /"Not an Image" is not a valid Docker image name/],
  ])('fails a run with the unusable image %s and reports the error of the engine', async (image, answer, message) => {
    if (answer) engine.registry.set(`${image}:latest`, answer);
    const { runId, environmentUid } = await runIn(image, 'echo never');
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({
      state: 'FAILED',
      status_message: {
        error_code: 'environment_setup_failed',
        message: expect.stringMatching(message),
        retryable: false,
      },
    });
    // The environment is updated after the run has ended.
    await until(
      async () => {
        const { body } = await installation.call('GET', '/agent/environments');
        return (body.environments as { uid: string; setup_failed: boolean }[]).some(
          ({ uid, setup_failed: isFailed }) => uid === environmentUid && isFailed,
        );
      },
      10_000,
      'setup_failed of the environment',
    );
    expect(engine.containers.size).toBe(0);
  });

  it('fails a run whose image has no glibc with a message that names glibc', async () => {
    engine.images.set('alpine:3', { isMusl: true });
    const { runId } = await runIn('alpine:3', 'echo never');
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({
      state: 'FAILED',
      status_message: {
        error_code: 'environment_setup_failed',
        message: expect.stringMatching(/alpine:3 cannot run .*glibc.*No such file or directory/),
      },
    });
    await noContainerIsLeft();
  });

  it('fails a run whose container exceeds its memory with agent_process_failed', async () => {
    const runId = await startWitnessed(60);
    const [container] = engine.running;
    if (container) engine.runOutOfMemory(container);
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({
      state: 'FAILED',
      status_message: {
        error_code: 'agent_process_failed',
        message: expect.stringContaining('exceeded its 512 MiB of memory'),
      },
    });
    await noContainerIsLeft();
  });

  it('keeps runs queued while the engine is unavailable and executes them afterwards', async () => {
    await engine.down();
    await server.says('Runs wait in the queue until it is available.');
    const runId = await installation.createRun(sh('echo late'));
    for (let poll = 0; poll < 20; poll += 1) {
      expect(await installation.run(runId)).toMatchObject({ state: 'QUEUED' });
      await tick(50);
    }
    await engine.up();
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
    await noContainerIsLeft();
  });

  it('finishes a run whose engine is restarted while the container continues', async () => {
    const runId = await startWitnessed(3);
    await engine.down();
    await engine.up();
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
    await noContainerIsLeft();
  });

  it('ends a run with infrastructure_timeout when its container is lost with the engine', async () => {
    const runId = await startWitnessed(60);
    await engine.down({ keepsContainers: false });
    await engine.up();
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({
      state: 'ERROR',
      status_message: { error_code: 'infrastructure_timeout' },
    });
    await noContainerIsLeft();
  });

  it.runIf(isLong)('executes a run after a restart when the server stopped during the pull of its image', async () => {
    engine.registry.set('slow/image:latest', { image: {}, after: new Promise(() => undefined) });
    const { runId } = await runIn('slow/image', 'echo later');
    await until(
      () => engine.asked.some(({ query }) => query.get('fromImage') === 'slow/image'),
      20_000,
      'the pull of the image',
    );
    await server.stopCleanly('SIGTERM');
    engine.registry.set('slow/image:latest', { image: {} });
    server = await installation.up();
    expect(await installation.waitFor(runId, ENDED)).toMatchObject({ state: 'SUCCEEDED' });
    await noContainerIsLeft();
  });

  it('removes the container that a killed server has left on the engine', async () => {
    const runId = await startWitnessed(60);
    const [container] = engine.running;
    const pids = container ? engine.pidsOf(container) : [];
    expect(pids.length).toBeGreaterThan(1);
    process.kill(server.child.pid ?? 0, 'SIGKILL');
    await server.exited;
    // A server that restarts within the lease would continue the execution; this test restarts it after the lease.
    await until(() => pids.every((pid) => !isAlive(pid)), 30_000, 'the end of the runner without a server');
    expect(engine.containers.size).toBe(1);
    server = await installation.up();
    const run = await installation.waitFor(runId, ENDED);
    expect(run.state).toBe('ERROR');
    await noContainerIsLeft(30_000);
  });

  it.each([
    [{ EXECUTOR: 'docker' }, /RUNNER_API_URL is http:\/\/127\.0\.0\.1:\d+: inside a container that address/],
    [{ EXECUTOR: 'boat' }, /EXECUTOR must be one of process, docker, kubernetes; it is boat\./],
  ])('exits with 1 at startup and explains the setting when it cannot work with %j', async (settings, message) => {
    const other = await Installation.create({ ...settings, DOCKER_HOST: engine.host });
    const program = other.start('up');
    try {
      expect(await program.exited).toBe(1);
      expect(program.text).toMatch(message);
    } finally {
      await program.stop('SIGKILL');
      other.remove();
    }
  });
});

describe('headrace doctor with the docker executor', { timeout: 120_000 }, () => {
  interface Check {
    readonly check: string;
    readonly verdict: string;
    readonly found: string;
  }
  const examine = async (): Promise<Map<string, Check>> => {
    const text = await installation.shell('headrace doctor --json || true', tmpdir());
    return new Map((JSON.parse(text) as { checks: Check[] }).checks.map((check) => [check.check, check]));
  };

  it('checks the API, and starts and removes a container that calls RUNNER_API_URL', async () => {
    engine.images.set('debian:bookworm-slim', {});
    const checks = await examine();
    expect(checks.get('api')).toMatchObject({ verdict: 'ok' });
    expect(checks.get('container')).toMatchObject({ verdict: 'ok', found: expect.stringContaining('reaches http://') });
    expect(checks.get('harnesses')).toMatchObject({ verdict: 'skip' });
    expect([...engine.containers.values()].filter(({ name }) => name.startsWith('headrace-doctor'))).toEqual([]);
  });

  it('passes the network gateway to containers of an engine before 23.0, and reports a container that cannot reach the API', async () => {
    // This double resolves only `host-gateway`, so a container cannot reach the API over the gateway address.
    engine.version = '20.10.24';
    const checks = await examine();
    expect(checks.get('container')).toMatchObject({
      verdict: 'fail',
      found: expect.stringContaining('does not reach'),
    });
    const created = engine.asked.filter(({ path }) => path === '/containers/create').at(-1);
    expect(JSON.parse(String(created?.body))).toMatchObject({
      HostConfig: { ExtraHosts: [`host.docker.internal:${engine.gateway}`] },
    });
  });
});
