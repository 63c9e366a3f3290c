import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '#testing';
import { ScriptedWorker } from '../support/scripted-worker.js';

let api: TestApi;
let token: string;
let userToken: string;
let team: string;

beforeAll(async () => {
  api = await startTestApi();
  team = await api.identities.team();
  token = (await api.identities.serviceAccount(team)).token;
  userToken = (await api.identities.user({ [team]: 'owner' })).token;
});
afterAll(() => api.close());

const MIB = 1_048_576;

describe('a rejected upgrade', () => {
  it.each<[string, () => { token?: string; name?: string | null }, number]>([
    ['no token', () => ({ name: 'w' }), 401],
    ['an unknown token', () => ({ name: 'w', token: `${token}x` }), 401],
    ['no token and no name', () => ({ name: null }), 401],
    ['the token of a user', () => ({ name: 'w', token: userToken }), 403],
    ['a name that begins with warp', () => ({ name: 'warp', token }), 403],
    ['a name that begins with warp and continues', () => ({ name: 'warp-1', token }), 403],
    ['no name', () => ({ name: null, token }), 400],
    ['an empty name', () => ({ name: '', token }), 400],
    ['a blank name', () => ({ name: '   ', token }), 400],
  ])('%s', async (_what, connection, status) => {
    const refusal = await ScriptedWorker.refused({ url: api.url, ...connection() });
    expect(refusal.status).toBe(status);
    expect(refusal.headers['content-type']).toContain('application/problem+json');
    expect(JSON.parse(refusal.body)).toMatchObject({ status, error_code: expect.any(String) });
    expect(refusal.body).not.toContain(token);
  });

  it.each(['expired', 'revoked'] as const)('a token that is %s', async (state) => {
    const bot = await api.identities.serviceAccount(team);
    const ended = await api.identities.token(bot, { state });
    expect((await ScriptedWorker.refused({ url: api.url, name: 'w', token: ended })).status).toBe(401);
  });

  it('lists no worker', async () => {
    const { body } = await api.request(200, 'GET /agent/connected-self-hosted-workers', { token });
    expect(body.workers).toEqual([]);
  });
});

describe('a frame that closes the socket', () => {
  const connect = (name: string): Promise<ScriptedWorker> => ScriptedWorker.connect({ url: api.url, token, name });

  it.each(['no json', '{"type":', '[]', '"heartbeat"', '7', 'null', '{}', '{"type":7}', ''])(
    'is closed with 1008 for the malformed frame %j',
    async (text) => {
      const worker = await connect('not-json');
      worker.sendText(text);
      expect((await worker.closed).code).toBe(1008);
    },
  );

  it('is closed with 1009 for a frame over 1 MiB', async () => {
    const worker = await connect('too-large');
    worker.sendText(JSON.stringify({ type: 'heartbeat', data: 'x'.repeat(MIB) }));
    expect((await worker.closed).code).toBe(1009);
  });

  it('stays open for a frame of 1 MiB of an unknown type', async () => {
    const worker = await connect('just-right');
    const empty = JSON.stringify({ type: 'unknown', data: '' });
    worker.sendText(JSON.stringify({ type: 'unknown', data: 'x'.repeat(MIB - empty.length) }));
    await worker.pingPong();
    worker.send('unknown_again');
    worker.send('heartbeat');
    await worker.pingPong();
    await worker.close();
  });

  it('answers pings at once with the same data', async () => {
    const worker = await connect('pinging');
    for (let count = 0; count < 5; count += 1) await worker.pingPong();
    await worker.close();
  });
});
