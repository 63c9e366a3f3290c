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

  it('also has the schemas by the names of their documents, each of which can be read by itself', async () => {
    const { token } = await api.identities.user();
    const { body } = await api.request(200, OPERATION, { token });
    expect(Object.keys(body.documents)).toEqual(
      ['factory', 'webhook', 'automation', 'agent', 'skill'].map((kind) => `${kind}.schema.json`),
    );
    for (const [name, schema] of Object.entries(body.documents))
      expect((await api.request(200, `${OPERATION}/${name}`, { token })).body).toEqual(schema);
    for (const name of ['runner.schema.json', 'constructor.schema.json', 'factory.json'])
      await api.request(404, `${OPERATION}/${name}`, { token });
    const { body: list } = await api.request(200, 'GET /factory-files/schemas', { token });
    expect(list).toEqual({
      current_version: 'v1alpha1',
      versions: [{ schema_version: 'v1alpha1', schema_url: '/api/v1/factory-files/schemas/v1alpha1' }],
    });
    await api.request(404, 'GET /factory-files/schemas/v2', { token });
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
