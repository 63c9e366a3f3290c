import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiFixture, filesOf } from '../../support/api-fixture.js';
import { expectProblem, inTeam } from '../../support/api-requests.js';
import { FACTORY } from './definition-plans.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());

const validate = (status: number, body: object) =>
  fixture.request(status, 'POST /factory-files/validate', { token: fixture.viewer.token, body });

describe('validateFactoryFiles', () => {
  it('accepts files whose references only a factory could resolve', async () => {
    const files = filesOf({ 'factory.yaml': FACTORY, 'webhooks/ci.yaml': 'secretName: nowhere\n' });
    expect((await validate(200, { files })).body).toEqual({
      valid: true,
      schema_version: 'v1alpha1',
      diagnostics: [],
      deferred_resolutions: [],
      state_dependent_checks_not_run: ['secrets', 'webhooks', 'environments', 'agents', 'names'],
      validation_scope: { parser: 'checked', state_independent: 'checked', state_dependent: 'not_checked' },
    });
  });

  it('returns file, line and column of every error with 200', async () => {
    const files = filesOf({ 'factory.yaml': FACTORY, 'webhooks/ci.yaml': 'secretName: ci\nauthMod: token\n' });
    const { body } = await validate(200, { files });
    expect(body).toMatchObject({
      valid: false,
      diagnostics: [{ code: 'unknown_key', path: 'webhooks/ci.yaml', line: 2, column: 1 }],
    });
    const { body: empty } = await validate(200, { files: [] });
    expect(empty).toMatchObject({ valid: false, diagnostics: [{ path: 'factory.yaml' }] });
  });

  it('rejects a body without files with 400 that names the field', async () => {
    expectProblem(fixture.api, await validate(400, {}), 'invalid_request', [
      { pointer: '/files', detail: 'is required' },
    ]);
    expectProblem(fixture.api, await validate(400, { files: [{ path: 'factory.yaml' }] }), 'invalid_request', [
      { pointer: '/files/0/content', detail: 'is required' },
    ]);
  });

  it('rejects a request without a token with 401', async () => {
    await fixture.request(401, 'POST /factory-files/validate', { body: { files: [] } });
  });

  it('rejects a team that the caller is no member of with 403, a large body with 413 and another media type with 415', async () => {
    const { token } = fixture.viewer;
    const line = 'POST /factory-files/validate';
    const foreign = inTeam(fixture.otherTeam);
    await fixture.request(403, line, { token, body: { files: [] }, headers: foreign });
    const content = 'x'.repeat(9_000_000);
    await fixture.request(413, line, { token, body: { files: [{ path: 'factory.yaml', content }] } });
    await fixture.request(415, line, { token, body: '{}', contentType: 'text/plain' });
  });
});

describe('schemas of definition files', () => {
  it('reject a team that the caller is no member of with 403, and unknown parameters with 400', async () => {
    const { token } = fixture.viewer;
    const headers = inTeam(fixture.otherTeam);
    for (const path of ['schemas', 'schemas/v1alpha1/factory.schema.json'])
      await fixture.request(403, `GET /factory-files/${path}`, { token, headers });
    await fixture.request(400, 'GET /factory-files/schemas/v1alpha1/%20', { token });
  });
});
