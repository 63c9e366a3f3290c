import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TOKEN_CACHE_MS, TokensService, UsersService } from '#platform/auth';
import { Database } from '#platform/persistence';
import { SweepExecutions } from '#execution/executions';
import { SchedulesModule } from '#domain/schedules';
import { startTestApi, type TestApi, type TestPrincipal, TestRunner } from '#testing';
import { until } from '../../support/installation.js';
import { LiveClient } from '../runs/live-client.js';

/** Disabling a user ends tokens, streams, personal schedules and personal runs; what belongs to a team continues. */

let api: TestApi;
/** Another process of the installation, which learns of it by the database alone. */
let second: TestApi;
let team: string;
/** An administrator of the installation. */
let site: TestPrincipal;
beforeAll(async () => {
  api = await startTestApi({ modules: [SchedulesModule] });
  second = await startTestApi({ database: api.database });
  team = await api.identities.team();
  site = await api.identities.administrator();
});
afterAll(async () => {
  await second.close();
  await api.close();
});

const update = ({ uid }: TestPrincipal, isDisabled: boolean) =>
  api.request(200, `PUT /users/${uid}`, { token: site.token, body: { is_disabled: isDisabled } });
const disable = (user: TestPrincipal) => update(user, true);
const enable = (user: TestPrincipal) => update(user, false);
const sweep = () => api.app.get(SweepExecutions, { strict: false }).execute();
const statusOf = async (token: string, at = api): Promise<number> => {
  const response = await fetch(`${at.url}/api/v1/agent/models`, { headers: { authorization: `Bearer ${token}` } });
  await response.body?.cancel();
  return response.status;
};
const newRun = async ({ token }: TestPrincipal, personal: boolean): Promise<string> => {
  const body = { prompt: 'Go.', team: !personal };
  return (await api.request(200, 'POST /agent/runs', { token, body })).body.run_id as string;
};
const stateOf = async (runId: string, { token }: TestPrincipal): Promise<string> =>
  (await api.request(200, `GET /agent/runs/${runId}`, { token })).body.state as string;
const end = async (runner: TestRunner): Promise<void> => {
  await runner.startAgent();
  await runner.report(['turn_started', { turn_id: 't1', prompt: 'Go.' }]);
  await runner.snapshot();
  await runner.report(['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }]);
  await runner.finish();
};
const registration = async ({ token }: TestPrincipal, line: string, body: object) =>
  (await api.request(200, `POST /agent/runs/${line}`, { token, body })).body as {
    readonly run_id: string;
    readonly execution_id: string;
    readonly token: string;
  };
const continueOutside = (runId: string, by: TestPrincipal) =>
  registration(by, `${runId}/followups/external`, { message: 'Continue.' });
const endedExternalRun = async (by: TestPrincipal): Promise<string> => {
  const { run_id: runId, execution_id: id, token } = await registration(by, 'external', { prompt: 'Go.', team: true });
  await end(await TestRunner.claim(api, id, token));
  return runId;
};
const continued = async (runId: string, by: TestPrincipal): Promise<TestRunner> => {
  const { execution_id: id, token } = await continueOutside(runId, by);
  const runner = await TestRunner.claim(api, id, token);
  await runner.startAgent();
  return runner;
};
const isUnverified = ({ uid }: TestPrincipal) =>
  api.database.query('UPDATE headrace.users SET is_email_verified = false WHERE uid = $1', [uid]);
const verify = ({ uid }: TestPrincipal): Promise<void> =>
  api.app.get(Database).transaction((tx) => api.app.get(UsersService).verifyAddress(tx, uid));
const verifyAddress = async (user: TestPrincipal): Promise<void> => {
  await isUnverified(user);
  await verify(user);
  // Requests may have been authenticated before.
  await api.advanceClock(2 * TOKEN_CACHE_MS + 1);
};
const newSchedule = async ({ token }: TestPrincipal, personal: boolean): Promise<string> => {
  const body = { name: 'nightly', cron_schedule: '0 3 * * *', prompt: 'Go.', enabled: true, team: !personal };
  return (await api.request(201, 'POST /agent/schedules', { token, body })).body.id as string;
};

describe('a user who is disabled', () => {
  it('is rejected with every token in every process until the user is enabled', async () => {
    const user = await api.identities.user({ [team]: 'admin' });
    const tokens = [user.token, await api.identities.token(user)];
    for (const token of tokens) expect([await statusOf(token), await statusOf(token, second)]).toEqual([200, 200]);
    await disable(user);
    for (const at of [api, second])
      for (const token of tokens) await until(async () => (await statusOf(token, at)) === 401);
    await disable(user);
    const owner = { type: 'user', uid: user.uid } as const;
    const created = await api.app.get(TokensService).create({ owner, name: 'later' });
    expect(created).toEqual({ kind: 'unknown_owner' });
    await enable(user);
    await until(async () => (await statusOf(user.token, second)) === 200);
  });

  it('is disconnected from open event streams at once', async () => {
    const user = await api.identities.user({ [team]: 'member' });
    const runId = await newRun(user, false);
    const client = await LiveClient.watch(second, runId, { token: user.token });
    await disable(user);
    await client.closed;
  });

  it('has personal schedules paused with the reason, while those of the team continue', async () => {
    const user = await api.identities.user({ [team]: 'member' });
    const colleague = await api.identities.user({ [team]: 'member' });
    const [own, ofTeam] = [await newSchedule(user, true), await newSchedule(user, false)];
    await disable(user);
    const timers = await api.database.query<{ key: string }>('SELECT key FROM headrace.timers WHERE key = ANY($1)', [
      [own, ofTeam],
    ]);
    expect(timers).toEqual([{ key: ofTeam }]);
    const shown = await api.request(200, `GET /agent/schedules/${ofTeam}`, { token: colleague.token });
    expect(shown.body.enabled).toBe(true);
    await enable(user);
    const { body } = await api.request(200, `GET /agent/schedules/${own}`, {
      token: await api.identities.token(user),
    });
    expect(body).toMatchObject({ enabled: false, paused_reason: expect.stringContaining('was disabled') });
  });

  it('has personal runs cancelled and their agents stopped, while hosted runs of the team continue', async () => {
    const user = await api.identities.user({ [team]: 'member' });
    const colleague = await api.identities.user({ [team]: 'member' });
    const [own, ofTeam] = [await newRun(user, true), await newRun(user, false)];
    const runners = [await TestRunner.take(api, own), await TestRunner.take(api, ofTeam)];
    for (const runner of runners) await runner.startAgent();
    await disable(user);
    await sweep();
    const desired = await api.database.query<{ run_id: string; desired: string }>(
      'SELECT run_id, desired FROM executions WHERE run_id = ANY($1) ORDER BY run_id = $2 DESC',
      [[own, ofTeam], own],
    );
    expect(desired.map((execution) => execution.desired)).toEqual(['stop', 'run']);
    expect(await stateOf(ofTeam, colleague)).toBe('INPROGRESS');
    await enable(user);
    expect(await stateOf(own, { ...user, token: await api.identities.token(user) })).toBe('CANCELLED');
  });

  it('has queued personal runs, and runs of the team on their machine, fail with not_authorized', async () => {
    const user = await api.identities.user({ [team]: 'member' });
    const colleague = await api.identities.user({ [team]: 'member' });
    const register = async (personal: boolean) =>
      (
        await api.request(200, 'POST /agent/runs/external', {
          token: user.token,
          body: { prompt: 'Go.', team: !personal },
        })
      ).body;
    const runs = [await register(true), await register(false)];
    await disable(user);
    for (const { execution_id: id, token } of runs)
      await api.request(412, `POST /runner/v1/executions/${id}/claim`, {
        token,
        body: { protocol_version: 1, instance_id: 'test' },
      });
    const { body } = await api.request(200, `GET /agent/runs/${runs[1].run_id}`, { token: colleague.token });
    expect(body).toMatchObject({ state: 'FAILED', status_message: { error_code: 'not_authorized' } });
  });

  it('has a run of the team on their machine cancelled', async () => {
    const user = await api.identities.user({ [team]: 'member' });
    const colleague = await api.identities.user({ [team]: 'member' });
    const { body } = await api.request(200, 'POST /agent/runs/external', {
      token: user.token,
      body: { prompt: 'Go.' },
    });
    const runner = await TestRunner.claim(api, body.execution_id as string, body.token as string);
    await runner.startAgent();
    await disable(user);
    await sweep();
    expect(await stateOf(body.run_id as string, colleague)).toBe('CANCELLED');
  });
});

describe('a principal that executes a run of the team on another machine', () => {
  it.each([
    ['user', 'registers', 'is removed from the team', 'DELETE /members/'],
    ['user', 'registers', 'becomes a viewer', 'PUT /members/'],
    ['service account', 'registers', 'is deleted', 'DELETE /service-accounts/'],
    ['service account', 'continues', 'is deleted', 'DELETE /service-accounts/'],
  ])(
    'as a %s that %s it and %s gets no credential, starts no run, and the run is cancelled',
    async (kind, how, _what, line) => {
      const owner = await api.identities.user({ [team]: 'owner' });
      const name = `git-${kind.replace(' ', '-')}-${how}`;
      await api.request(200, `PUT /secrets/${name}`, { token: owner.token, body: { value: 'first' } });
      const url = 'https://git.example.com/team/repository.git';
      const config = { git_repos: [{ url, secret_name: name }] };
      const environment = (await api.request(201, 'POST /environments', { token: owner.token, body: { config } })).body;
      const executor =
        kind === 'user' ? await api.identities.user({ [team]: 'member' }) : await api.identities.serviceAccount(team);
      const body = { prompt: 'Go.', team: true, config: { environment_id: environment.uid } };
      const register = async () => {
        if (how === 'registers')
          return (await api.request(200, 'POST /agent/runs/external', { token: executor.token, body })).body;
        const { run_id: runId } = (await api.request(200, 'POST /agent/runs', { token: owner.token, body })).body;
        await end(await TestRunner.take(api, runId as string));
        return continueOutside(runId as string, executor);
      };
      const [claimed, offered] = [await register(), await register()];
      const runner = await TestRunner.claim(api, claimed.execution_id as string, claimed.token as string);
      await runner.startAgent();
      const credential = async () =>
        (
          await api.request(200, `POST /runner/v1/executions/${claimed.execution_id}/repository-credential`, {
            token: runner.token,
            body: { lease_epoch: runner.assignment.lease_epoch, url },
          })
        ).body;
      expect(await credential()).toMatchObject({ credential: { password: 'first' } });
      const isUpdate = line.startsWith('PUT');
      await api.request(isUpdate ? 200 : 204, `${line}${executor.uid}`, {
        token: owner.token,
        ...(isUpdate && { body: { role: 'viewer' } }),
      });
      await api.request(200, `PUT /secrets/${name}`, { token: owner.token, body: { value: 'second' } });
      expect(await credential()).toEqual({ problem: expect.stringContaining('may no longer have such runs') });
      const child = { key: 'child', prompt: 'Go.', lease_epoch: runner.assignment.lease_epoch };
      expect((await runner.call(200, 'POST runs', {}, child)).body).toEqual({
        problem: expect.stringContaining('may no longer create such runs'),
      });
      await expect(TestRunner.claim(api, offered.execution_id as string, offered.token as string)).rejects.toThrow(
        'expected 200, got 412',
      );
      await sweep();
      expect(await stateOf(claimed.run_id as string, owner)).toBe('CANCELLED');
    },
  );

  it('keeps it when another service account, which has registered it, is deleted', async () => {
    const owner = await api.identities.user({ [team]: 'owner' });
    const creator = await api.identities.serviceAccount(team);
    const runner = await continued(await endedExternalRun(creator), await api.identities.serviceAccount(team));
    await api.request(204, `DELETE /service-accounts/${creator.uid}`, { token: owner.token });
    await sweep();
    expect(await stateOf(runner.assignment.run_id, owner)).toBe('INPROGRESS');
  });

  it('keeps it when their address was verified after the run was created, and before they continued it', async () => {
    const user = await api.identities.user({ [team]: 'member' });
    const runId = await endedExternalRun(await api.identities.serviceAccount(team));
    await verifyAddress(user);
    const runner = await continued(runId, { ...user, token: await api.identities.token(user) });
    await sweep();
    expect(await stateOf(runner.assignment.run_id, await api.identities.user({ [team]: 'viewer' }))).toBe('INPROGRESS');
  });
});

describe('a personal run that was created before the address of its owner was verified', () => {
  it('is cancelled, also when it was registered while the verification waited for another request', async () => {
    const user = await api.identities.user({ [team]: 'member' });
    await isUnverified(user);
    let release = (): void => undefined;
    let lock = Promise.resolve();
    await new Promise<void>((locked) => {
      lock = api.app.get(Database).transaction(async (tx) => {
        await tx.query('SELECT 1 FROM headrace.users WHERE uid = $1 FOR NO KEY UPDATE', [user.uid]);
        locked();
        await new Promise<void>((resolve) => (release = resolve));
      });
    });
    const verification = verify(user);
    await until(async () => {
      const [waiting] = await api.database.query<{ count: number }>(
        `SELECT count(*)::int FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%is_email_verified = true%'`,
      );
      return waiting?.count === 1;
    });
    const {
      run_id: runId,
      execution_id: id,
      token,
    } = await registration(user, 'external', { prompt: 'Go.', team: false });
    await (await TestRunner.claim(api, id, token)).startAgent();
    release();
    await Promise.all([lock, verification]);
    await sweep();
    const [run] = await api.database.query('SELECT state FROM runs WHERE id = $1', [runId]);
    expect(run).toEqual({ state: 'CANCELLED' });
  });

  it('is executed after a follow-up of the owner only', async () => {
    const user = await api.identities.user({ [team]: 'member' });
    const [ended, queued] = [await newRun(user, true), await newRun(user, true)];
    await end(await TestRunner.take(api, ended));
    await verifyAddress(user);
    const owner = { ...user, token: await api.identities.token(user) };
    await expect(TestRunner.take(api, queued)).rejects.toThrow('expected 200, got 412');
    await api.request(200, `POST /agent/runs/${ended}/followups`, {
      token: owner.token,
      body: { message: 'Continue.' },
    });
    await (await TestRunner.take(api, ended)).startAgent();
    await sweep();
    expect(await stateOf(ended, owner)).toBe('INPROGRESS');
  });
});
