import { startTestApi, type TestApi, type TestPrincipal, type TestRequest, type TestResponse } from '#testing';
import { type AgentsRoom, openRoom } from '../agents/agents-room.js';

export interface SchedulesFixture extends AgentsRoom {
  readonly api: TestApi;
  /** As the member. */
  ask(status: number, line: string, body?: unknown): Promise<TestResponse['body']>;
  askAs(
    by: TestPrincipal,
    status: number,
    line: string,
    rest?: Omit<TestRequest, 'token'>,
  ): Promise<TestResponse['body']>;
  /** Makes one of the team, as the member. */
  make(fields?: object): Promise<TestResponse['body']>;
}

export const SCHEDULES = '/agent/schedules';
export const at = (id: string, action?: string): string =>
  `${SCHEDULES}/${id}${action === undefined ? '' : `/${action}`}`;

/** Due at three in the morning, every day. */
export const valid = (fields: object = {}): Record<string, unknown> => ({
  name: 'nightly',
  cron_schedule: '0 3 * * *',
  prompt: 'Look at what is new.',
  enabled: true,
  ...fields,
});

export async function openSchedulesFixture(): Promise<SchedulesFixture> {
  const api = await startTestApi();
  const fixture = await openRoom(api);
  const askAs: SchedulesFixture['askAs'] = async ({ token }, status, line, rest = {}) =>
    (await api.request(status, line, { token, ...rest })).body;
  const ask: SchedulesFixture['ask'] = (status, line, body) =>
    askAs(fixture.member, status, line, body === undefined ? {} : { body });
  return {
    ...fixture,
    api,
    ask,
    askAs,
    make: (fields) => ask(201, `POST ${SCHEDULES}`, valid(fields)),
  };
}
