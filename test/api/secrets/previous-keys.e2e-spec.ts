import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ObjectStore } from '#platform/storage';
import { startTestApi, type TestApi, TestRunner } from '#testing';

const KEY = 'a-key-that-comes-after-the-first-0123456789';

let before: TestApi;
/** The same installation with another key, with and without the one of before. */
let during: TestApi;
let afterwards: TestApi;

beforeAll(async () => {
  before = await startTestApi();
  const { database, settings } = before;
  const common = { dataDir: settings.dataDir, secretsKey: KEY };
  during = await startTestApi({
    database,
    settings: { ...common, secretsKeyPrevious: [settings.secretsKey ?? ''] },
  });
  afterwards = await startTestApi({ database, settings: common });
});
afterAll(async () => {
  await afterwards.close();
  await during.close();
  await before.close();
});

describe('while SECRETS_KEY_PREVIOUS has the old key', () => {
  it('runners at work continue; without it they are refused', async () => {
    const team = await before.identities.team();
    const { token } = await before.identities.user({ [team]: 'member' });
    const { body } = await before.request(200, 'POST /agent/runs', { token, body: { prompt: 'work' } });
    const runner = await TestRunner.take(before, body.run_id as string);
    const { execution_id: execution, lease_epoch } = runner.assignment;
    const beat = { token: runner.token, body: { lease_epoch } };
    await during.request(200, `POST /runner/v1/executions/${execution}/beat`, beat);
    await afterwards.request(401, `POST /runner/v1/executions/${execution}/beat`, beat);
  });

  it('download links that are out work; without it they do not', async () => {
    const store = before.app.get(ObjectStore);
    await store.put('test/object', Buffer.from('kept'), { contentType: 'text/plain' });
    const { pathname, search } = new URL(await store.signedUrl('test/object', { ttlMs: 60_000 }));
    const download = async ({ url }: TestApi) => {
      const response = await fetch(url + pathname + search);
      return [response.status, response.status === 200 ? await response.text() : ''];
    };
    expect(await download(during)).toEqual([200, 'kept']);
    expect(await download(afterwards)).toEqual([403, '']);
  });
});
