import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '#testing';
import { inTeam } from '../../support/api-requests.js';

const OPERATION = 'GET /factory-files/schemas/v1alpha1';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

describe('getFactoryFileSchemas', () => {
  it('returns schemas to every caller that editors can use', async () => {
    const team = await api.identities.team();
    const people = [
      await api.identities.user({ [team]: 'viewer' }),
      await api.identities.serviceAccount(team),
      await api.identities.user(),
    ];
    for (const { token } of people) {
      const { body } = await api.request(200, OPERATION, { token });
      expect(body).toMatchObject({ schema_version: 'v1alpha1' });
      expect(Object.keys(body.schemas)).toEqual(['factory', 'webhook', 'automation', 'agent', 'skill']);
      for (const schema of Object.values(body.schemas)) {
        expect(new Ajv2020({ strict: false }).validateSchema(schema as object)).toBe(true);
      }
    }
  });

  it('contains the triggers of the installation, with their filters', async () => {
    const { token } = await api.identities.user();
    const { body } = await api.request(200, OPERATION, { token });
    const validate = new Ajv2020({ strict: false }).compile(body.schemas.automation);
    const trigger = (payload: unknown) => ({
      triggers: [{ provider: 'webhook', event: 'received', filter: { webhook_ids: ['A'.repeat(22)], payload } }],
    });
    expect(validate(trigger({ action: ['opened'], issue: { state: { not_in: ['closed'] } } }))).toBe(true);
    expect(validate(trigger({ action: 'opened' }))).toBe(false);
    expect(validate({ triggers: [{ provider: 'mail', event: 'received' }] })).toBe(false);
  });

  it('rejects the header of a team of others with 403', async () => {
    const { token } = await api.identities.user();
    await api.request(403, OPERATION, { token, headers: inTeam(await api.identities.team()) });
  });
});
