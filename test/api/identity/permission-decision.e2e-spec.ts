import { Controller, Get, Module, Post } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Authorize, type Caller, CurrentCaller, isAllowed } from '#platform/auth';
import { startTestApi, type TestApi } from '#testing';

const PERSON = { teamUid: null, userUid: 'somebody else' };

@Controller('probes')
class ProbesController {
  @Post()
  @Authorize('runs:write', 'run')
  create(): object {
    return {};
  }

  @Get()
  @Authorize('runs:read', 'run')
  list(@CurrentCaller() caller: Caller): object {
    return { isAllowed: isAllowed(caller, PERSON) };
  }
}

@Module({ controllers: [ProbesController] })
class ProbesModule {}

let api: TestApi;
let token: string;

beforeAll(async () => {
  api = await startTestApi({ modules: [ProbesModule] });
  ({ token } = await api.identities.user({ [await api.identities.team()]: 'owner' }));
});
afterAll(() => api.close());

it('responds with 500 to an operation that succeeds without a decision on its resource, and logs its name', async () => {
  const { body } = await api.request(500, 'POST /probes', { token });
  expect(body).toMatchObject({ error_code: 'internal_error' });
  expect(JSON.stringify(body)).not.toContain('decide');
  expect(api.log.text).toContain('ProbesController.create did not decide runs:write on the run.');
});

it('responds with the result of an operation that has decided its permission', async () => {
  const { body } = await api.request(200, 'GET /probes', { token });
  expect(body).toEqual({ isAllowed: false });
});
