import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, RunBuilder, startVerifyingS3, type TestDatabase, TestIdentities } from '#testing';
import { Installation, until } from '../support/installation.js';

const DAY = 86_400_000;

describe('server processes', { timeout: 120_000 }, () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.close());

  const install = (settings: Record<string, string>): Promise<Installation> =>
    Installation.create({
      DATABASE_URL: database.url,
      DATABASE_POOL_SIZE: '4',
      QUEUE_POOL_SIZE: '6',
      ...settings,
    });

  it('deletes runs older than RETENTION_RUNS and adds the missing facets of a run of an older version', async () => {
    const by = await new TestIdentities(database).user();
    const runs = new RunBuilder(database);
    const old = await runs.build({
      by,
      state: 'SUCCEEDED',
      createdAt: new Date(Date.now() - 40 * DAY),
      columns: { transcript: JSON.stringify({ key: 'transcripts/old.jsonl', format: 'oz', session_id: 's' }) },
    });
    const young = await runs.build({ by, state: 'SUCCEEDED', createdAt: new Date(Date.now() - 20 * DAY) });
    await database.query('DELETE FROM run_facets WHERE run_id = $1', [young.id]);
    const installation = await install({ RETENTION_RUNS: '30d' });
    const processor = installation.start('processor');
    try {
      await processor.says('Headrace processor is ready');
      const left = await until(
        async () => {
          const rows = await database.query<{ id: string }>('SELECT id FROM runs WHERE id = ANY($1)', [
            [old.id, young.id],
          ]);
          return rows.length < 2 && rows;
        },
        20_000,
        'the first round of retention',
      );
      expect(left).toEqual([{ id: young.id }]);
      const discarded = await database.query<{ name: string }>('SELECT name FROM discarded_objects ORDER BY 1');
      expect(discarded).toEqual([{ name: `transcripts/${old.id}/` }]);
      await until(
        async () => (await database.query('SELECT 1 FROM run_facets WHERE run_id = $1', [young.id])).length > 0,
        20_000,
        'the first round of repairs',
      );
    } finally {
      await processor.stopCleanly();
      installation.remove();
    }
  });

  it('reports a missing bucket of OBJECT_STORE_URL in one line at startup', async () => {
    const s3 = await startVerifyingS3('somewhere');
    const installation = await install({
      OBJECT_STORE_URL: 's3://elsewhere',
      S3_ENDPOINT: s3.url,
      S3_FORCE_PATH_STYLE: 'true',
      S3_ACCESS_KEY_ID: 'TESTKEY',
      S3_SECRET_ACCESS_KEY: 'a-secret-of-the-test',
    });
    try {
      const api = installation.start('api');
      await api.says('headrace: Headrace cannot start');
      await api.stop('SIGKILL');
      expect(api.text).toMatch(
        /^headrace: Headrace cannot start: .*\n {2}- OBJECT_STORE_URL names the bucket elsewhere at .*: there is no such bucket\.$/m,
      );
    } finally {
      await s3.close();
      installation.remove();
    }
  });
});
