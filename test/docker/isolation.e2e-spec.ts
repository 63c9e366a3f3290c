import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ExecutorInstallation } from '../support/executor-installation.js';
import { anyContainer, engine, MIB, startInstallation } from './docker-installation.js';
import { BRIDGE_ADDRESS, OTHER_RUNTIME } from './engine.js';

const SECRET = 'the-value-of-a-managed-secret';
const MEMORY_BYTES = 384 * MIB;
const allocate = (bytes: number): string => `perl -e '$x = "a" x ${bytes}; sleep 20'`;

describe('isolation of a container', () => {
  let installation: ExecutorInstallation;

  beforeAll(async () => {
    installation = await startInstallation({
      DOCKER_MEMORY_BYTES: String(MEMORY_BYTES),
      DOCKER_CPUS: '1',
      DOCKER_PIDS: '128',
      DOCKER_RUNTIME: OTHER_RUNTIME,
      MAX_WORKSPACE_BYTES: String(64 * MIB),
    });
    await installation.call('PUT', '/secrets/TEST_SECRET', { value: SECRET });
  });
  afterAll(() => installation.stop());
  afterEach(() => installation.nothingIsLeft());

  it('has no capability, gains none, and has the limits of the settings', async () => {
    const runId = await installation.createRun(
      [
        'grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status | tr "\\t" " "',
        'echo "core $(ulimit -c)"',
        'touch /opt/headrace/file 2>/dev/null || echo "read-only runner"',
        '[ -e /var/run/docker.sock ] || echo "no socket"',
        'ls /dev/sd* /dev/vd* /dev/kvm 2>/dev/null || echo "no devices"',
        'echo "limits $((40 + 2))"; sleep 20',
      ].join('\n'),
    );
    await installation.says(runId, 'limits 42');
    const conversation = await installation.conversation(runId);
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
      expect(conversation).toContain(`${set}: 0000000000000000`);
    for (const fact of ['NoNewPrivs: 1', 'Seccomp: 2', 'core 0', 'read-only runner', 'no socket', 'no devices'])
      expect(conversation).toContain(fact);
    const { HostConfig: host } = await engine.inspect((await anyContainer()).Id);
    expect(host).toMatchObject({
      Runtime: OTHER_RUNTIME,
      Privileged: false,
      Memory: MEMORY_BYTES,
      MemorySwap: MEMORY_BYTES,
      NanoCpus: 1e9,
      PidsLimit: 128,
      LogConfig: { Type: 'none' },
    });
    expect((await installation.call('POST', `/agent/runs/${runId}/cancel`)).status).toBe(200);
  });

  it('shows no secret to clients of the engine', async () => {
    const runId = await installation.createRun(
      'echo "the secret has $(printf %s "$TEST_SECRET" | wc -c) bytes"; sleep 20',
      {
        secrets: [{ name: 'TEST_SECRET' }],
      },
    );
    await installation.says(runId, `the secret has ${SECRET.length} bytes`);
    const view = JSON.stringify(await engine.inspect((await anyContainer()).Id));
    expect(view).not.toContain(SECRET);
    expect(view).not.toMatch(/hrx_\d+_/);
    expect((await installation.call('POST', `/agent/runs/${runId}/cancel`)).status).toBe(200);
  });

  it('lets an agent continue whose child ran out of memory', async () => {
    const { run, conversation } = await installation.execute(
      `${allocate(3 * MEMORY_BYTES)} || echo "the child ended with $?"`,
    );
    expect(run.state).toBe('SUCCEEDED');
    expect(conversation).toContain('the child ended with 137');
  });

  it('fails a run whose setup command ran out of memory', async () => {
    const { run } = await installation.execute('echo never', { setup_commands: [allocate(3 * MEMORY_BYTES)] });
    expect(run).toMatchObject({
      state: 'FAILED',
      status_message: { error_code: 'environment_setup_failed', message: expect.stringContaining('137') },
    });
  });

  it('fails a run whose runner or agent ran out of memory', async () => {
    // Many small processes: the kernel kills the largest ones, which are the agent and the runner.
    const small = allocate(16 * MIB);
    const { run } = await installation.execute(`for i in $(seq 40); do ${small} & done; wait; sleep 20`);
    expect(run).toMatchObject({ state: 'FAILED', status_message: { error_code: 'agent_process_failed' } });
  });

  it('limits processes, and the runner survives a fork bomb', async () => {
    const { run, conversation } = await installation.execute(
      'for i in $(seq 300); do sleep 10 & done 2>&1 | tail -n 1; echo "it continues"',
    );
    expect(run.state).toBe('SUCCEEDED');
    expect(conversation).toMatch(/fork|it continues/i);
  });

  it('fails a run whose workspace exceeds its limit', async () => {
    const { run } = await installation.execute(`head -c ${200 * MIB} /dev/zero > big; sleep 60`);
    expect(run).toMatchObject({
      state: 'FAILED',
      status_message: { message: expect.stringContaining('max_workspace_bytes') },
    });
  });
});

describe('network of a container', () => {
  const NETWORK = 'headrace-test-internal';
  const server = createServer((socket) => socket.end());
  const probe = (address: string, port: number): string =>
    `timeout 5 bash -c 'echo > /dev/tcp/${address}/${port}' 2>/dev/null && echo "it is reachable" || echo "it is unreachable"`;
  let port: number;
  let gateway: string;

  beforeAll(async () => {
    await engine.docker('network', 'create', '--internal', NETWORK);
    gateway = (
      await engine.docker('network', 'inspect', '--format', '{{(index .IPAM.Config 0).Gateway}}', NETWORK)
    ).trim();
    port = await new Promise((resolve) =>
      server.listen(0, BRIDGE_ADDRESS, () => resolve((server.address() as { port: number }).port)),
    );
  });
  afterAll(async () => {
    server.close();
    await engine.docker('network', 'rm', NETWORK);
  });

  it('is the bridge of the engine, with the services that this machine offers on it', async () => {
    const installation = await startInstallation();
    try {
      const { conversation } = await installation.execute(probe(BRIDGE_ADDRESS, port));
      expect(conversation).toContain('it is reachable');
    } finally {
      await installation.stop();
    }
  });

  it('is an internal one that DOCKER_NETWORK names, with the API and nothing else', async () => {
    const installation = await startInstallation({ DOCKER_NETWORK: NETWORK });
    try {
      expect(gateway).not.toBe('');
      const { run, conversation } = await installation.execute(probe(BRIDGE_ADDRESS, port));
      expect(run.state).toBe('SUCCEEDED');
      expect(conversation).toContain('it is unreachable');
    } finally {
      await installation.stop();
    }
  });
});
