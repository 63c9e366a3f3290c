import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TeamsService } from '#platform/auth';
import { startTestApi, type TestApi } from '#testing';
import { inTeam } from '../../support/api-requests.js';

let api: TestApi;
let red: string;
let blue: string;
let both: string;

beforeAll(async () => {
  api = await startTestApi();
  red = await api.identities.team('Red');
  blue = await api.identities.team('Blue');
  await api.app.get(TeamsService).update(red, { defaultModelId: 'house-model' });
  await api.app.get(TeamsService).update(blue, { defaultModelId: 'gpt-5' });
  both = (await api.identities.user({ [red]: 'viewer', [blue]: 'viewer' })).token;
});
afterAll(() => api.close());

const list = async (token: string, headers: Record<string, string> = {}) =>
  (await api.request(200, 'GET /agent/models', { token, headers })).body as {
    default_model_id: string;
    models: { id: string }[];
  };

describe('listModels', () => {
  it('returns auto and well-known models with all fields', async () => {
    const { token } = await api.identities.user({ [await api.identities.team()]: 'viewer' });
    const { default_model_id, models } = await list(token);
    expect(default_model_id).toBe('auto');
    expect(models[0]).toEqual({ id: 'auto', display_name: 'Auto', provider: 'UNKNOWN', vision_supported: false });
    expect(new Set(models.map(({ id }) => id)).size).toBe(models.length);
    for (const model of models)
      expect(model).toEqual({
        id: expect.stringMatching(/\S/),
        display_name: expect.stringMatching(/\S/),
        provider: expect.stringMatching(/^(OPENAI|ANTHROPIC|GOOGLE|UNKNOWN)$/),
        vision_supported: expect.any(Boolean),
      });
  });

  it('returns the default of the team, also when it is not well-known', async () => {
    const ofRed = await list(both, inTeam(red));
    expect(ofRed.default_model_id).toBe('house-model');
    expect(ofRed.models.filter(({ id }) => id === 'house-model')).toHaveLength(1);
    const ofBlue = await list(both, inTeam(blue));
    expect(ofBlue.default_model_id).toBe('gpt-5');
    expect(ofBlue.models.filter(({ id }) => id === 'gpt-5')).toHaveLength(1);
    const { token } = await api.identities.serviceAccount(red);
    expect((await list(token)).default_model_id).toBe('house-model');
  });

  it('returns auto as the default without a chosen team, and 403 for a team of others', async () => {
    expect((await list(both)).default_model_id).toBe('auto');
    await api.request(403, 'GET /agent/models', { token: both, headers: inTeam(await api.identities.team()) });
  });

  it('returns the models of MODELS_FILE; an invalid file prevents the start of the API', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'headrace-models-'));
    const modelsFile = join(directory, 'models.json');
    const house = { id: 'house', display_name: 'House', provider: 'OPENAI', vision_supported: true };
    const start = async (models: object[]) => {
      await writeFile(modelsFile, JSON.stringify({ models }));
      return startTestApi({ database: api.database, settings: { modelsFile } });
    };
    try {
      const own = await start([house]);
      const { body } = await own.request(200, 'GET /agent/models', { token: both });
      await own.close();
      expect(body.models.slice(1)).toEqual([house]);
      await expect(start([{ ...house, provider: 'ACME' }])).rejects.toThrow('MODELS_FILE, models[0].provider');
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
