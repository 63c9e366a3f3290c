import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { TestApi } from '#testing';
import { goldenAbout, goldenOf } from './golden-files.js';
import { settled, InstallationWithWorkers } from './installation-with-workers.js';

let installation: InstallationWithWorkers;
beforeAll(async () => {
  installation = await InstallationWithWorkers.open();
});
afterEach(async () => {
  expect(await installation.endOfTest()).toEqual([]);
});
afterAll(() => installation.close());

describe('a run for a connected worker', () => {
  it('is assigned with all fields of the contract, claimed and completed', async () => {
    const host = installation.host();
    const worker = await installation.worker(host);
    const runId = await installation.run(host, { name: 'mender', harness: { type: 'claude' } });
    const { data } = await worker.claim(runId);
    expect(data).toMatchObject({
      task_id: runId,
      execution_id: expect.any(String),
      task: {
        id: runId,
        title: 'Fix it',
        task_definition: { prompt: 'Fix the build.' },
        agent_config_snapshot: { name: 'mender', worker_host: host, harness: { type: 'claude' } },
      },
    });
    expect(Object.values(data.env_vars as object)).toContainEqual(expect.stringMatching(/\S{20,}/));
    await installation.reaches(runId, 'CLAIMED');
    worker.send('task_completed', { task_id: runId, message: 'Task completed' });
    await installation.reaches(runId, 'SUCCEEDED');
    expect(worker.count('task_assignment', runId)).toBe(1);
  });

  it('contains the image of its environment and the secret of its harness', async () => {
    const { here, team } = installation;
    const { token } = await here.identities.user({ [team]: 'admin' });
    await here.request(200, 'PUT /secrets/claude-key', { token, body: { value: 'the-key-of-the-provider' } });
    const { body: environment } = await here.request(201, 'POST /environments', {
      token,
      body: { config: { name: 'in-a-container', docker_image: 'registry.example.com/build:7' } },
    });
    const host = installation.host();
    const worker = await installation.worker(host);
    const runId = await installation.run(host, {
      environment_id: environment.uid,
      harness: { type: 'claude' },
      harness_auth_secrets: { claude_auth_secret_name: 'claude-key' },
    });
    const { data } = await worker.assignment(runId);
    expect(data.docker_image).toBe('registry.example.com/build:7');
    expect(Object.values(data.env_vars as object)).toContain('the-key-of-the-provider');
    // Names of secrets are shown, values are for the worker alone.
    expect(JSON.stringify(data.task)).not.toContain('the-key-of-the-provider');
    expect(JSON.stringify(await installation.look(runId))).not.toContain('the-key-of-the-provider');
  });

  it('is PENDING until the worker answers', async () => {
    const host = installation.host();
    const worker = await installation.worker(host);
    const runId = await installation.run(host);
    await worker.assignment(runId);
    expect((await installation.look(runId)).state).toBe('PENDING');
  });

  it('stays QUEUED without a worker of the name, and starts when one connects', async () => {
    const host = installation.host();
    const other = await installation.worker(installation.host());
    const runId = await installation.run(host);
    await settled(600);
    expect((await installation.look(runId)).state).toBe('QUEUED');
    const worker = await installation.worker(host);
    await worker.claim(runId);
    await installation.reaches(runId, 'CLAIMED');
    expect(other.received).toEqual([]);
  });

  it('is not assigned to a worker with the same name of another team', async () => {
    const host = installation.host();
    const stranger = await installation.here.identities.serviceAccount(await installation.here.identities.team());
    const theirs = await installation.worker(host, { token: stranger.token });
    const runId = await installation.run(host);
    await settled(600);
    expect(theirs.received).toEqual([]);
    expect((await installation.look(runId)).state).toBe('QUEUED');
    const ours = await installation.worker(host);
    await ours.assignment(runId);
    // And what they say about our run changes nothing.
    theirs.send('task_claimed', { task_id: runId, worker_id: host });
    theirs.send('task_failed', { task_id: runId, message: 'ours now' });
    await theirs.pingPong();
    expect((await installation.look(runId)).state).toBe('PENDING');
  });

  it.each(['here', 'there'] as const)('is assigned across instances of the API: worker %s', async (side) => {
    const host = installation.host();
    const worker = await installation.worker(host, { url: installation[side].url });
    const runId = await installation.run(host);
    await worker.claim(runId);
    await installation.reaches(runId, 'CLAIMED');
    worker.send('task_completed', { task_id: runId, message: 'done' });
    await installation.reaches(runId, 'SUCCEEDED');
  });

  it('is assigned to one of several connections of a name, in turn', async () => {
    const host = installation.host();
    const workers = [
      await installation.worker(host),
      await installation.worker(host, { url: installation.here.url }),
      await installation.worker(host),
    ];
    await vi.waitFor(async () => expect((await installation.connected())[host]).toBe(workers.length));
    const runIds = await Promise.all(Array.from({ length: 6 }, () => installation.run(host)));
    await vi.waitFor(() => expect(workers.flatMap(({ received }) => received).length).toBe(runIds.length), {
      timeout: 8_000,
      interval: 40,
    });
    const assigned = workers.map(({ received }) => received.map(({ data }) => data.task_id as string));
    expect(assigned.flat().sort()).toEqual([...runIds].sort());
    expect(assigned.map((ids) => ids.length)).toEqual([2, 2, 2]);
  });
});

describe('a message of a worker', () => {
  it('task_rejected returns the run to the queue, and it is offered again', { timeout: 40_000 }, async () => {
    const host = installation.host();
    const runId = await installation.run(host);
    const executions = new Set<string>();
    // More often than offers may fail.
    for (let round = 0; round < 7; round += 1) {
      const busy = await installation.worker(host);
      const { data } = await busy.assignment(runId);
      executions.add(data.execution_id as string);
      busy.send('task_rejected', goldenAbout('task_rejected', 0, { task_id: runId }));
      expect((await installation.reaches(runId, 'QUEUED')).status_message?.error_code).toBeUndefined();
      await busy.cut();
    }
    const worker = await installation.worker(host);
    const { data } = await worker.assignment(runId);
    worker.send('task_rejected', { task_id: runId, reason: 'at capacity' });
    await installation.reaches(runId, 'QUEUED');
    // The same one again, after a while.
    const { data: again } = await worker.claim(runId);
    await installation.reaches(runId, 'CLAIMED');
    expect(executions.add(data.execution_id as string).add(again.execution_id as string).size).toBe(9);
  });

  it('task_completed with CANCELLED sets the run to CANCELLED', async () => {
    const host = installation.host();
    const worker = await installation.worker(host);
    const runId = await installation.run(host);
    await worker.claim(runId);
    worker.send('task_completed', goldenAbout('task_completed', 1, { task_id: runId }));
    await installation.reaches(runId, 'CANCELLED');
  });

  it.each<[object, string, string | undefined]>([
    [{ failure_reason: 'setup_command', exit_code: 1 }, 'FAILED', 'environment_setup_failed'],
    [{ failure_reason: 'workspace_setup' }, 'FAILED', 'environment_setup_failed'],
    [{ failure_reason: 'image_pull' }, 'FAILED', 'environment_setup_failed'],
    [{ failure_reason: 'invalid_image' }, 'FAILED', 'environment_setup_failed'],
    [{ failure_reason: 'environment_setup_failed' }, 'FAILED', 'environment_setup_failed'],
    [{ failure_reason: 'agent_invocation', exit_code: 1 }, 'FAILED', 'agent_process_failed'],
    [{ failure_reason: 'agent_process_failed', exit_code: 137 }, 'FAILED', 'agent_process_failed'],
    [{ failure_reason: 'container_exit', exit_code: 2 }, 'FAILED', 'agent_process_failed'],
    [{}, 'ERROR', undefined],
    [{ failure_reason: 'container_create' }, 'ERROR', undefined],
    [{ failure_reason: 'task_timeout' }, 'ERROR', undefined],
    [{ failure_reason: 'what nobody has heard of' }, 'ERROR', undefined],
  ])('task_failed with %j sets the run to %s', async (fields, state, errorCode) => {
    const host = installation.host();
    const worker = await installation.worker(host);
    const runId = await installation.run(host);
    await worker.claim(runId);
    worker.send('task_failed', goldenAbout('task_failed', 0, { task_id: runId, message: 'It went wrong.', ...fields }));
    const { status_message: status } = await installation.reaches(runId, state);
    expect(status?.message).toContain('It went wrong.');
    if (errorCode !== undefined) expect(status?.error_code).toBe(errorCode);
  });

  it('task_failed with a failed set-up is recorded with the environment', async () => {
    const { here, team } = installation;
    const { token } = await here.identities.user({ [team]: 'admin' });
    const { body: environment } = await here.request(201, 'POST /environments', {
      token,
      body: { config: { name: 'breaks' } },
    });
    const host = installation.host();
    const worker = await installation.worker(host);
    const runId = await installation.run(host, { environment_id: environment.uid });
    await worker.claim(runId);
    const failed = { task_id: runId, message: 'It went wrong.', failure_reason: 'setup_command', exit_code: 1 };
    worker.send('task_failed', goldenAbout('task_failed', 0, failed));
    await installation.reaches(runId, 'FAILED');
    const isRecorded = async (): Promise<boolean> =>
      (await here.request(200, `GET /environments/${environment.uid}`, { token })).body.setup_failed;
    await vi.waitFor(async () => expect(await isRecorded()).toBe(true), { timeout: 5_000 });
  });

  it('is accepted for every golden file, without unknown fields', async () => {
    const host = installation.host();
    const worker = await installation.worker(host);
    const runId = await installation.run(host);
    await worker.assignment(runId);
    for (const frame of goldenOf('heartbeat').frames) worker.sendText(JSON.stringify(frame));
    worker.send('task_claimed', goldenAbout('task_claimed', 1, { task_id: runId, worker_id: host }));
    await installation.reaches(runId, 'CLAIMED');
    for (const { not_frames } of ['task_claimed', 'task_rejected', 'task_completed', 'task_failed'].map(goldenOf))
      for (const frame of not_frames) worker.sendText(JSON.stringify(frame));
    worker.send('a_message_of_tomorrow', { task_id: runId });
    await worker.pingPong();
    worker.send('task_completed', goldenAbout('task_completed', 0, { task_id: runId }));
    await installation.reaches(runId, 'SUCCEEDED');
  });
});

describe('repeated and late messages', () => {
  it('are counted once', async () => {
    const host = installation.host();
    const worker = await installation.worker(host);
    const runId = await installation.run(host);
    await worker.claim(runId);
    worker.send('task_claimed', { task_id: runId, worker_id: host });
    worker.send('task_completed', { task_id: runId, message: 'first' });
    worker.send('task_completed', { task_id: runId, message: 'second' });
    const ended = await installation.reaches(runId, 'SUCCEEDED');
    // What a run that ended is informed afterwards changes nothing.
    worker.send('task_claimed', { task_id: runId, worker_id: host });
    worker.send('task_failed', { task_id: runId, message: 'third', failure_reason: 'agent_invocation', exit_code: 1 });
    worker.send('task_completed', { task_id: runId, message: 'fourth', task_state: 'CANCELLED' });
    worker.send('task_rejected', { task_id: runId, reason: 'fifth' });
    await worker.pingPong();
    await settled(300);
    expect(await installation.look(runId)).toEqual(ended);
  });

  it('of a worker that did not claim in time change nothing after the next offer', async () => {
    const host = installation.host();
    const late = await installation.worker(host);
    const runId = await installation.run(host);
    await late.assignment(runId);
    const quick = await installation.worker(host);
    // It is offered again at once; whichever worker gets it, only one of them holds the run.
    const winner = await Promise.race([
      quick.assignment(runId).then(() => quick),
      late.assignment(runId).then(() => late),
    ]);
    winner.send('task_claimed', { task_id: runId, worker_id: host });
    await installation.reaches(runId, 'CLAIMED');
    const loser = winner === quick ? late : quick;
    loser.send('task_claimed', { task_id: runId, worker_id: host });
    loser.send('task_failed', { task_id: runId, message: 'late', failure_reason: 'agent_invocation', exit_code: 1 });
    await loser.pingPong();
    await settled(300);
    expect((await installation.look(runId)).state).toBe('CLAIMED');
    winner.send('task_completed', { task_id: runId, message: 'done' });
    await installation.reaches(runId, 'SUCCEEDED');
  });

  it('about unknown or foreign runs change nothing and do not close the connection', async () => {
    const host = installation.host();
    const worker = await installation.worker(host);
    const elsewhere = await installation.run(installation.host());
    for (const task_id of ['0199c3a0-5b1e-7c5e-9d6a-0123456789ab', 'no-uuid', '', elsewhere, "';--"]) {
      worker.send('task_claimed', { task_id, worker_id: host });
      worker.send('task_rejected', { task_id, reason: 'no' });
      worker.send('task_completed', { task_id, message: 'no' });
      worker.send('task_failed', { task_id, message: 'no' });
    }
    await worker.pingPong();
    expect((await installation.look(elsewhere)).state).toBe('QUEUED');
    const runId = await installation.run(host);
    await worker.claim(runId);
    await installation.reaches(runId, 'CLAIMED');
  });
});

describe('connected workers', () => {
  it('are counted by name for the team, with the same result at every instance', async () => {
    const host = installation.host();
    const [one, two] = [
      await installation.worker(host),
      await installation.worker(host, { url: installation.here.url }),
    ];
    for (const api of [installation.here, installation.there])
      await vi.waitFor(async () => expect(await installation.connected(api)).toMatchObject({ [host]: 2 }), {
        timeout: 5_000,
      });
    const stranger = await installation.here.identities.serviceAccount(await installation.here.identities.team());
    expect(await installation.connected(installation.here, stranger.token)).toEqual({});
    await one.close();
    for (const api of [installation.here, installation.there])
      await vi.waitFor(async () => expect(await installation.connected(api)).toMatchObject({ [host]: 1 }), {
        timeout: 5_000,
      });
    await two.cut();
    for (const api of [installation.here, installation.there])
      await vi.waitFor(async () => expect(await installation.connected(api)).not.toHaveProperty(host), {
        timeout: 8_000,
      });
  });
});

describe('cancelling', () => {
  const cancel = (api: TestApi, status: number, runId: string) =>
    api.request(status, `POST /agent/runs/${runId}/cancel`, { token: installation.bot.token });

  it('cancelRun of a self-hosted run returns 422 in every state before its end', async () => {
    const host = installation.host();
    const runId = await installation.run(host);
    expect((await cancel(installation.here, 422, runId)).body.error_code).toBe('operation_not_supported');
    const worker = await installation.worker(host);
    await worker.assignment(runId);
    expect((await cancel(installation.here, 409, runId)).body.error_code).toBe('conflict');
    worker.send('task_claimed', { task_id: runId, worker_id: host });
    await installation.reaches(runId, 'CLAIMED');
    await cancel(installation.here, 422, runId);
    worker.send('task_completed', { task_id: runId, message: 'done' });
    await installation.reaches(runId, 'SUCCEEDED');
    await cancel(installation.here, 400, runId);
    expect(worker.count('task_cancellation', runId)).toBe(0);
  });

  it('with self-hosted cancellation, the worker is informed at any instance, and the run is CANCELLED', async () => {
    const host = installation.host();
    const worker = await installation.worker(host, { url: installation.here.url });
    const runId = await installation.run(host);
    await worker.claim(runId);
    await installation.reaches(runId, 'CLAIMED');
    await cancel(installation.there, 200, runId);
    await worker.next('task_cancellation', ({ data }) => data.task_id === runId);
    worker.send('task_completed', goldenAbout('task_completed', 1, { task_id: runId }));
    const ended = await installation.reaches(runId, 'CANCELLED');
    worker.send('task_completed', { task_id: runId, message: 'or was it' });
    await worker.pingPong();
    await settled(300);
    expect(await installation.look(runId)).toMatchObject({ state: 'CANCELLED', status_message: ended.status_message });
    // It has capacity again.
    await worker.claim(await installation.run(host));
  });
});
