import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withSettings } from '#platform/config';
import { Database } from '#platform/persistence';
import { KeyRotation, MANAGED_SECRET, SecretBox } from '#platform/secrets';
import { startTestApi, type TestApi } from '#testing';

const NEW = 'the-next-key-of-this-installation-01234';

let api: TestApi;
let old: SecretBox;
let next: SecretBox;
let rotation: KeyRotation;

beforeAll(async () => {
  api = await startTestApi();
  old = new SecretBox(api.settings);
  const { secretsKey = '' } = api.settings;
  next = new SecretBox(withSettings(api.settings, { secretsKey: NEW, secretsKeyPrevious: [secretsKey] }));
  rotation = new KeyRotation(api.app.get(Database), next);
});
afterAll(() => api.close());

const purpose = (team: string, name: string): string => `managed-secret/${team}/${name}`;

const rotate = () => rotation.reencrypt(MANAGED_SECRET, (sealed, sealedFor) => next.reencrypt(sealed, sealedFor));

async function insert(team: string, names: readonly string[]): Promise<void> {
  await api.database.query(
    `INSERT INTO managed_secrets (team_uid, name, sealed) SELECT $1, * FROM unnest($2::text[], $3::text[])`,
    [team, names, names.map((name) => old.seal(`value of ${name}`, purpose(team, name)))],
  );
}

const sealedOf = async (team: string): Promise<Map<string, string>> => {
  const rows = await api.database.query<{ name: string; sealed: string }>(
    'SELECT name, sealed FROM managed_secrets WHERE team_uid = $1',
    [team],
  );
  return new Map(rows.map(({ name, sealed }) => [name, sealed]));
};

describe('re-encryption of a table', () => {
  it('re-encrypts every row of a large table and changes no other column', { timeout: 60_000 }, async () => {
    const team = await api.identities.team();
    const names = Array.from({ length: 4321 }, (_, index) => `s${index}`);
    await insert(team, names);
    const datesOf = () =>
      api.database.query(
        'SELECT name, version, created_at, updated_at FROM managed_secrets WHERE team_uid = $1 ORDER BY name',
        [team],
      );
    const before = await datesOf();
    await api.advanceClock(60_000);
    expect(await rotate()).toEqual({ changed: names.length, broken: 0 });
    const sealed = await sealedOf(team);
    const alone = new SecretBox(withSettings(api.settings, { secretsKey: NEW }));
    expect(names.every((name) => alone.open(sealed.get(name) ?? '', purpose(team, name)) === `value of ${name}`)).toBe(
      true,
    );
    expect(await datesOf()).toEqual(before);
    expect(await rotate()).toEqual({ changed: 0, broken: 0 });
  });

  it.each([
    ['keeps a value that another transaction writes meanwhile under the new key', () => next, 0],
    ['re-encrypts a value that another transaction writes meanwhile under the old key', () => old, 1],
  ])('%s', async (_what, writer, changed) => {
    const team = await api.identities.team();
    await insert(team, ['busy']);
    const other = new pg.Client({ connectionString: api.database.url });
    await other.connect();
    try {
      await other.query('BEGIN');
      await other.query(`UPDATE headrace.managed_secrets SET sealed = $2 WHERE team_uid = $1`, [
        team,
        writer().seal('written meanwhile', purpose(team, 'busy')),
      ]);
      const working = rotate();
      const waits = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'UPDATE headrace.managed_secrets%'`;
      await expect
        .poll(async () => (await api.database.query(waits)).length, { interval: 10, timeout: 20_000 })
        .toBe(1);
      await other.query('COMMIT');
      expect(await working).toEqual({ changed, broken: 0 });
    } finally {
      await other.end();
    }
    const sealed = (await sealedOf(team)).get('busy') ?? '';
    expect(next.open(sealed, purpose(team, 'busy'))).toBe('written meanwhile');
    expect(next.reencrypt(sealed, purpose(team, 'busy'))).toBeNull();
  });
});
