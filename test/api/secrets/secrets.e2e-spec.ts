import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database, type Queryable } from '#platform/persistence';
import { ManagedSecrets, SecretRejectedError, SecretChangeListener, SecretChangeListeners } from '#platform/secrets';
import { startTestApi, type TestApi } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import {
  inTeam,
  OVERSIZED_BODY,
  pointersOf,
  requestAnyStatus,
  sendConcurrently,
  UNKNOWN_UID,
} from '../../support/api-requests.js';

const LIMIT = 1000;

let api: TestApi;
let fixture: ApiFixture;

/** A library that uses secrets. */
class RecordingListener extends SecretChangeListener {
  readonly seen: string[] = [];
  refuses = '';
  user = '';

  override changed(
    _tx: Queryable,
    { name, version, value }: Parameters<SecretChangeListener['changed']>[1],
  ): Promise<void> {
    if (name === this.refuses) return Promise.reject(new SecretRejectedError('is no good for webhook ci (uid 7)'));
    this.seen.push(`${name} ${version} ${value}`);
    return Promise.resolve();
  }

  override usedBy(_tx: Queryable, _teamUid: string, name: string): Promise<readonly string[]> {
    return Promise.resolve(name === this.user ? ['webhook ci (uid 7)', 'webhook cd (uid 8)'] : []);
  }
}
const listener = new RecordingListener();

beforeAll(async () => {
  api = await startTestApi();
  fixture = await ApiFixture.over(api);
  api.app.get(SecretChangeListeners).register(listener);
});
afterAll(() => api.close());

const put = (name: string, value: string, { token } = fixture.admin, status = 200) =>
  api.request(status, `PUT /secrets/${name}`, { token, body: { value } });
const names = async (token: string): Promise<string[]> =>
  (await api.request(200, 'GET /secrets', { token })).body.secrets.map(({ name }: { name: string }) => name);
const read = (teamUid: string, name: string) =>
  api.app.get(Database).transaction((tx) => api.app.get(ManagedSecrets).readForRun(tx, teamUid, name));
const newTeam = async () => {
  const team = await api.identities.team();
  return { team, admin: await api.identities.user({ [team]: 'admin' }) };
};
const countOf = async (team: string): Promise<{ counted: number; there: number }> => {
  const [row] = await api.database.query<{ counted: number; there: number }>(
    `SELECT (SELECT secrets FROM managed_secret_counts WHERE team_uid = $1) AS counted,
       (SELECT count(*)::int FROM managed_secrets WHERE team_uid = $1) AS there`,
    [team],
  );
  return row ?? { counted: -1, there: -1 };
};

describe('putSecret', () => {
  it('creates a secret, then updates its value with the next version', async () => {
    const made = (await put('deploy.key_1', 'swordfish')).body;
    expect(made).toEqual({
      name: 'deploy.key_1',
      purpose: 'run',
      version: 1,
      created_at: expect.stringMatching(/Z$/),
      updated_at: made.created_at,
    });
    await api.advanceClock(60_000);
    const changed = (await put('deploy.key_1', 'marlin')).body;
    expect(changed).toMatchObject({ name: 'deploy.key_1', version: 2, created_at: made.created_at });
    expect(Date.parse(changed.updated_at) - Date.parse(made.updated_at)).toBeGreaterThanOrEqual(60_000);
    expect(await read(fixture.team, 'deploy.key_1')).toEqual({ version: 2, value: 'marlin' });
    expect(listener.seen).toEqual(['deploy.key_1 1 swordfish', 'deploy.key_1 2 marlin']);
  });

  it('keeps every byte of a value', async () => {
    const { team, admin } = await newTeam();
    for (const value of [' ', '\n', 'ключ 🔑\r\n', 'x'.repeat(65_536)]) {
      await put('v', value, admin);
      expect((await read(team, 'v'))?.value).toBe(value);
    }
  });

  it.each<[unknown, string]>([
    [{ value: '' }, '/value'],
    [{ value: 'x'.repeat(65_537) }, '/value'],
    [{ value: 'é'.repeat(32_769) }, '/value'],
    [{ value: 'a\0b' }, '/value'],
    [{ value: 'a\ud800b' }, '/value'],
    [{ value: 7 }, '/value'],
    [{ value: null }, '/value'],
    [{}, '/value'],
    [{ value: 'x', name: 'y' }, '/name'],
  ])('400: %j', async (body, pointer) => {
    const { token } = fixture.admin;
    const answer = await api.request(400, 'PUT /secrets/wrong', { token, body });
    expect(pointersOf(answer.body)).toEqual([pointer]);
    expect(await names(token)).not.toContain('wrong');
  });

  it.each(['%20', '.hidden', '-x', 'a%20b', 'a%2Fb', 'x'.repeat(129), 'caf%C3%A9', 'a%00b', '__proto__'])(
    '400: the name %s',
    async (name) => {
      const answer = await put(name, 'x', fixture.admin, 400);
      expect(answer.body.detail).toContain('`name`');
    },
  );

  it.each(['constructor', '7', 'x'.repeat(128)])('200: the name %s', async (name) => {
    await put(name, 'x');
    expect(await names(fixture.admin.token)).toContain(name);
  });

  it('rejects a value that a user of the secret cannot use with 400, without a change', async () => {
    await put('picky', 'good');
    listener.refuses = 'picky';
    const answer = await put('picky', 'bad value', fixture.admin, 400);
    listener.refuses = '';
    expect(pointersOf(answer.body)).toEqual(['/value']);
    expect(answer.body.detail).toContain('is no good for webhook ci (uid 7)');
    expect(answer.text).not.toContain('bad value');
    expect(await read(fixture.team, 'picky')).toEqual({ version: 1, value: 'good' });
  });

  it('rejects a request without a chosen team with 400, and invalid bodies with 413 and 415', async () => {
    const { token } = fixture.adminOfBoth;
    const nowhere = await put('a', 'x', fixture.adminOfBoth, 400);
    expect(nowhere.body.detail).toContain('X-Headrace-Team-Uid');
    await api.request(200, 'PUT /secrets/a', { token, body: { value: 'x' }, headers: inTeam(fixture.otherTeam) });
    await api.request(413, 'PUT /secrets/a', { token, body: OVERSIZED_BODY, contentType: 'application/json' });
    await api.request(415, 'PUT /secrets/a', { token, body: '{}', contentType: 'text/plain' });
  });
});

describe('the limit of a team', () => {
  const fill = async (team: string, upTo: number): Promise<void> => {
    await api.database.query(
      `INSERT INTO managed_secrets (team_uid, name, sealed) SELECT $1, 's' || i, 'v1' FROM generate_series(1, $2) i`,
      [team, upTo],
    );
    await api.database.query('INSERT INTO managed_secret_counts VALUES ($1, $2)', [team, upTo]);
  };
  const lockOf = (team: string) => `SELECT 1 FROM headrace.managed_secret_counts WHERE team_uid = '${team}' FOR UPDATE`;

  it('applies to concurrent requests: 403 limit_reached beyond it', async () => {
    const { team, admin } = await newTeam();
    await fill(team, LIMIT - 2);
    const answers = await sendConcurrently(api, lockOf(team), () =>
      Array.from({ length: 5 }, (_, index) =>
        requestAnyStatus(api, `PUT /secrets/new${index}`, { token: admin.token, body: { value: 'x' } }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 403, 403, 403]);
    const refused = answers.filter(({ status }) => status === 403);
    expect(refused.map(({ body }) => body.error_code)).toEqual(Array.from({ length: 3 }, () => 'limit_reached'));
    expect(await countOf(team)).toEqual({ counted: LIMIT, there: LIMIT });
  });

  it('does not prevent updates, and a deletion frees capacity', async () => {
    const { team, admin } = await newTeam();
    await fill(team, LIMIT);
    await put('s1', 'another', admin);
    expect((await put('late', 'x', admin, 403)).body.error_code).toBe('limit_reached');
    await api.request(204, 'DELETE /secrets/s2', { token: admin.token });
    await put('late', 'x', admin);
    expect(await countOf(team)).toEqual({ counted: LIMIT, there: LIMIT });
  });

  it('counts a secret once that concurrent requests create', async () => {
    const { team, admin } = await newTeam();
    await put('first', 'x', admin);
    const answers = await sendConcurrently(api, lockOf(team), () =>
      Array.from({ length: 5 }, () =>
        requestAnyStatus(api, 'PUT /secrets/same', { token: admin.token, body: { value: 'x' } }),
      ),
    );
    expect(answers.map(({ body }) => body.version as number).sort()).toEqual([1, 2, 3, 4, 5]);
    expect(await countOf(team)).toEqual({ counted: 2, there: 2 });
  });

  it('does not apply to the secrets of other services', async () => {
    const { team } = await newTeam();
    await fill(team, LIMIT);
    const secret = { teamUid: team, name: 'webhook-x', value: 'v' };
    const work = (tx: Queryable) => api.app.get(ManagedSecrets).put(tx, secret);
    expect(await api.app.get(Database).transaction(work)).toEqual({ version: 1, created: true });
    expect(await countOf(team)).toEqual({ counted: LIMIT + 1, there: LIMIT + 1 });
  });
});

describe('listSecrets', () => {
  it('returns only names and dates, sorted by name', async () => {
    const { admin } = await newTeam();
    for (const name of ['beta', 'Alpha', 'alpha']) await put(name, 'swordfish', admin);
    const { body } = await api.request(200, 'GET /secrets', { token: admin.token });
    expect(body.secrets.map(({ name }: { name: string }) => name.toLowerCase())).toEqual(['alpha', 'alpha', 'beta']);
    for (const secret of body.secrets)
      expect(Object.keys(secret)).toEqual(['name', 'purpose', 'created_at', 'updated_at']);
  });

  it('rejects a request without a chosen team with 400', async () => {
    await api.request(400, 'GET /secrets', { token: fixture.adminOfBoth.token });
    await api.request(200, 'GET /secrets', { token: fixture.adminOfBoth.token, headers: inTeam(fixture.team) });
  });
});

describe('deleteSecret', () => {
  it('deletes with 204; 404 for unknown or invalid names; 400 without a team or a name', async () => {
    const { token } = fixture.admin;
    await put('short-lived', 'x');
    await api.request(204, 'DELETE /secrets/short-lived', { token });
    expect(await names(token)).not.toContain('short-lived');
    for (const name of ['short-lived', 'never', 'a%20b', '.x'])
      await api.request(404, `DELETE /secrets/${name}`, { token });
    await api.request(400, 'DELETE /secrets/%20', { token });
    await api.request(400, 'DELETE /secrets/never', { token: fixture.adminOfBoth.token });
  });

  it('rejects a deletion with 409 and the users of the secret while it is used', async () => {
    await put('used', 'x');
    listener.user = 'used';
    const answer = await api.request(409, 'DELETE /secrets/used', { token: fixture.admin.token });
    listener.user = '';
    expect(answer.body).toMatchObject({
      error_code: 'conflict',
      detail: 'The secret is in use by webhook ci (uid 7), webhook cd (uid 8).',
    });
    await api.request(204, 'DELETE /secrets/used', { token: fixture.admin.token });
  });

  it('waits for a transaction that starts to use the secret', async () => {
    await put('wanted', 'x');
    let deleting = Promise.resolve({ status: 0 });
    await api.app.get(Database).transaction(async (tx) => {
      await api.app.get(ManagedSecrets).readForRun(tx, fixture.team, 'wanted');
      deleting = requestAnyStatus(api, 'DELETE /secrets/wanted', { token: fixture.admin.token });
      for (let turn = 0; turn < 20; turn += 1) await api.atOrigin(200, 'GET /health/live');
      // By now it waits for this transaction; what it then sees is that the secret is used.
      listener.user = 'wanted';
    });
    expect((await deleting).status).toBe(409);
    listener.user = '';
  });
});

describe('authorization', () => {
  it.each(['member', 'viewer', 'bot'] as const)('rejects every operation of a %s with 403', async (who) => {
    await put('team-s', 'x');
    const { token } = fixture[who];
    await api.request(403, 'GET /secrets', { token });
    await api.request(403, 'PUT /secrets/team-s', { token, body: { value: 'mine' } });
    await api.request(403, 'DELETE /secrets/team-s', { token });
    expect((await read(fixture.team, 'team-s'))?.value).toBe('x');
  });

  it('separates the secrets of teams', async () => {
    await put('shared-name', 'ours');
    await put('shared-name', 'theirs', fixture.stranger);
    expect((await read(fixture.team, 'shared-name'))?.value).toBe('ours');
    expect((await read(fixture.otherTeam, 'shared-name'))?.value).toBe('theirs');
    await put('ours-only', 'x');
    await api.request(404, 'DELETE /secrets/ours-only', { token: fixture.stranger.token });
    const { token } = fixture.stranger;
    await api.request(403, 'DELETE /secrets/ours-only', { token, headers: inTeam(fixture.team) });
    await api.request(403, 'GET /secrets', { token: fixture.admin.token, headers: inTeam(UNKNOWN_UID) });
  });
});

describe('the value of a secret', () => {
  const VALUE = 'sw0rdf1sh-in-the-clear';

  it('is in no response, no log line and no table', async () => {
    api.log.clear();
    const { token } = fixture.admin;
    const answers = [
      await put('quiet', VALUE),
      await api.request(200, 'GET /secrets', { token }),
      await api.request(400, 'PUT /secrets/quiet', { token, body: { value: `${VALUE}\0` } }),
      await api.request(400, 'PUT /secrets/quiet', { token, body: { value: [VALUE] } }),
      await api.request(400, 'PUT /secrets/quiet', { token, body: { [VALUE.replaceAll('-', '')]: 1, value: VALUE } }),
      await api.request(400, 'PUT /secrets/quiet', {
        token,
        body: `{"value":"${VALUE}"`,
        contentType: 'application/json',
      }),
      await put('quiet', VALUE, fixture.viewer, 403),
      await api.request(204, 'DELETE /secrets/quiet', { token }),
      await put('quiet', VALUE),
    ];
    expect(answers.filter(({ text }) => text.includes(VALUE))).toEqual([]);
    expect(api.log.text).not.toContain(VALUE);
    expect(api.log.text).toContain('/secrets');
    const rows = await api.database.query<{ row: string }>(
      `SELECT row_to_json(s)::text AS row FROM managed_secrets s WHERE name = 'quiet'`,
    );
    expect(rows.map(({ row }) => row.includes(VALUE))).toEqual([false]);
  });

  it('cannot be decrypted in the row of another secret', async () => {
    await put('one', 'x');
    await put('two', 'y');
    await api.database.query(
      `UPDATE managed_secrets SET sealed = (SELECT sealed FROM managed_secrets WHERE name = 'one' AND team_uid = $1)
       WHERE name = 'two' AND team_uid = $1`,
      [fixture.team],
    );
    await expect(read(fixture.team, 'two')).rejects.toMatchObject({ reason: 'not_authentic' });
  });
});
