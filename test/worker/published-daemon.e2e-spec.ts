import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { Program } from '../support/installation.js';
import { type SeenRun, InstallationWithWorkers } from '../workers/installation-with-workers.js';

const binary = process.env.OZ_AGENT_WORKER ?? '';
const LEASE_MS = 12_000;
const PATIENCE_MS = 60_000;

const skipReason = binary === '' ? ' (OZ_AGENT_WORKER names no binary of oz-agent-worker)' : '';

/** A stand-in for its runner: an agent that calls nobody and ends when the test says so. */
const RUNNER = `#!/bin/sh
until [ -e "$RELEASES/$TASK_ID" ]; do sleep 0.1; done
`;

describe.skipIf(binary === '')(`the published daemon${skipReason}`, { timeout: 240_000 }, () => {
  let installation: InstallationWithWorkers;
  let directory: string;
  let host: string;
  const daemons: Program[] = [];

  beforeAll(async () => {
    installation = await InstallationWithWorkers.open({
      leaseTtl: LEASE_MS,
      workerHeartbeatTimeout: LEASE_MS,
      claimDeadline: 5_000,
    });
    directory = mkdtempSync(join(tmpdir(), 'headrace-published-'));
    mkdirSync(join(directory, 'releases'));
    mkdirSync(join(directory, 'workspaces'));
    writeFileSync(join(directory, 'runner'), RUNNER, { mode: 0o755 });
    const direct = { workspace_root: join(directory, 'workspaces'), oz_path: join(directory, 'runner') };
    // JSON is YAML.
    writeFileSync(join(directory, 'worker.yaml'), JSON.stringify({ backend: { direct } }));
    host = installation.host();
  }, 60_000);
  afterEach(async () => {
    await Promise.all(daemons.map((daemon) => daemon.stop('SIGKILL')));
  });
  afterAll(async () => {
    await installation.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const start = async (): Promise<Program> => {
    const server = installation.there.url;
    const args = [
      ...['--worker-id', host, '--log-level', 'debug', '--max-concurrent-tasks', '1'],
      ...['--config-file', join(directory, 'worker.yaml'), '-e', `RELEASES=${join(directory, 'releases')}`],
      ...['--web-socket-url', `${server.replace(/^http/, 'ws')}/api/v1/selfhosted/worker/ws`],
      ...['--server-root-url', server],
    ];
    const child = spawn(binary, args, {
      env: {
        PATH: process.env.PATH ?? '',
        HOME: directory,
        WARP_API_KEY: installation.bot.token,
        OTEL_METRICS_EXPORTER: 'none',
      },
      cwd: directory,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const daemon = new Program(child, 'oz-agent-worker');
    daemons.push(daemon);
    await daemon.says('Successfully connected');
    return daemon;
  };
  const release = (runId: string): void => writeFileSync(join(directory, 'releases', runId), '');
  const reaches = (runId: string, state: string): Promise<SeenRun> => installation.reaches(runId, state, PATIENCE_MS);

  it('executes the queue of its host, stops and starts again', async () => {
    const runs: string[] = [];
    while (runs.length < 12) runs.push(await installation.run(host));
    const next = (): string => {
      const runId = runs.shift();
      if (runId === undefined) throw new Error('The queue is empty.');
      return runId;
    };

    // A queue behind one slot: few rejections, and every run starts in its turn.
    const first = await start();
    for (let done = 0; done < 6; done += 1) {
      const runId = next();
      await reaches(runId, 'CLAIMED');
      release(runId);
      const { started_at: startedAt } = await reaches(runId, 'SUCCEEDED');
      expect(startedAt).toEqual(expect.any(String));
    }
    expect(first.text.split('Rejecting task').length - 1).toBeLessThan(10);

    // A graceful stop: its task fails, and nothing is left to a process that ends.
    const stopped = next();
    await reaches(stopped, 'CLAIMED');
    first.child.kill('SIGTERM');
    expect((await reaches(stopped, 'ERROR')).status_message).toMatchObject({
      error_code: 'infrastructure_timeout',
      retryable: true,
    });
    await first.exited;

    // A crash and a restart: the run that it has forgotten says so and can be cancelled.
    const second = await start();
    const forgotten = next();
    await reaches(forgotten, 'CLAIMED');
    await second.stop('SIGKILL');
    await start();
    await vi.waitFor(
      async () =>
        expect((await installation.look(forgotten)).status_message?.message).toContain(
          'The worker has connected again',
        ),
      { timeout: PATIENCE_MS, interval: 100 },
    );
    await installation.here.request(200, `POST /agent/runs/${forgotten}/cancel`, { token: installation.bot.token });
    release(forgotten);

    for (const runId of runs) {
      await reaches(runId, 'CLAIMED');
      release(runId);
      await reaches(runId, 'SUCCEEDED');
    }
  });
});
