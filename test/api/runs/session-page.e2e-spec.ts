import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '#testing';
import { UNKNOWN_RUN_ID } from '../../support/api-requests.js';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

describe('the address that session_link names', () => {
  it('leads to the page of the run in the console, whether the run exists or not', async () => {
    const { origin } = new URL(api.url);
    const response = await fetch(`${origin}/runs/${UNKNOWN_RUN_ID}`, { redirect: 'manual' });
    expect(response.status).toBe(302);
    // Relative: a proxy may serve it below a prefix.
    expect(response.headers.get('location')).toBe(`../console/runs/${UNKNOWN_RUN_ID}`);
  });

  it('does not redirect to anything but a run', async () => {
    for (const path of ['not-a-run', '..%2F..%2Fevil', '%2F%2Fevil.example'])
      await api.atOrigin(404, `GET /runs/${path}`);
  });
});
