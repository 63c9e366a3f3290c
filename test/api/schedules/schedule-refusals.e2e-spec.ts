import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HUGE, inTeam, pointersOf, UNKNOWN } from '../agents/agents-room.js';
import { at, openSchedulesFixture, SCHEDULES, type SchedulesFixture, valid } from './schedules-fixture.js';

let fixture: SchedulesFixture;
let id: string;

beforeAll(async () => {
  fixture = await openSchedulesFixture();
  ({ id } = await fixture.make());
});
afterAll(() => fixture.api.close());

const without = (...names: string[]): object =>
  Object.fromEntries(Object.entries(valid()).filter(([name]) => !names.includes(name)));

/** Bodies that neither create nor update takes, and where their errors point. */
const WRONG: readonly (readonly [what: string, body: unknown, pointers: string[]])[] = [
  ['nothing', {}, ['/name', '/cron_schedule', '/prompt', '/enabled']],
  ['no name', without('name'), ['/name']],
  ['no cron_schedule', without('cron_schedule'), ['/cron_schedule']],
  ['no prompt', without('prompt'), ['/prompt']],
  ['no enabled', without('enabled'), ['/enabled']],
  ['a blank name', valid({ name: ' ' }), ['/name']],
  ['a long name', valid({ name: 'x'.repeat(201) }), ['/name']],
  ['a blank prompt', valid({ prompt: '\n' }), ['/prompt']],
  ['enabled as text', valid({ enabled: 'true' }), ['/enabled']],
  ['an unknown key', valid({ cron: '* * * * *' }), ['/cron']],
  ['six fields', valid({ cron_schedule: '0 0 3 * * *' }), ['/cron_schedule']],
  ['no fields', valid({ cron_schedule: '' }), ['/cron_schedule']],
  ['a descriptor', valid({ cron_schedule: '@daily' }), ['/cron_schedule']],
  ['a zone in the expression', valid({ cron_schedule: 'CRON_TZ=Europe/Berlin 0 3 * * *' }), ['/cron_schedule']],
  ['30 February', valid({ cron_schedule: '0 0 30 2 *' }), ['/cron_schedule']],
  ['a long expression', valid({ cron_schedule: `${'1,'.repeat(300)}1 * * * *` }), ['/cron_schedule']],
  ['an unknown zone', valid({ timezone: 'Europe/Atlantis' }), ['/timezone']],
  ['an offset as zone', valid({ timezone: '+02:00' }), ['/timezone']],
  ['an unknown policy', valid({ overlap_policy: 'queue' }), ['/overlap_policy']],
  ['negative jitter', valid({ jitter_seconds: -1 }), ['/jitter_seconds']],
  ['too much jitter', valid({ jitter_seconds: 3601 }), ['/jitter_seconds']],
  ['half a second', valid({ jitter_seconds: 0.5 }), ['/jitter_seconds']],
  ['an unknown mode', valid({ mode: 'fast' }), ['/mode']],
  ['a key of metadata', valid({ metadata: { 'a b': 'c' } }), ['/metadata/a b']],
  ['an unknown key in agent_config', valid({ agent_config: { nothing: 1 } }), ['/agent_config/nothing']],
  ['a reserved worker', valid({ agent_config: { worker_host: 'Warp-1' } }), ['/agent_config/worker_host']],
  [
    'two ways to name skills',
    valid({ agent_config: { skill_spec: 'a/b:c', skills: ['a/b:c'] } }),
    ['/agent_config/skills'],
  ],
  [
    'a server with two ways to be reached',
    valid({ agent_config: { mcp_servers: { one: { command: 'x', url: 'https://x.example.test' } } } }),
    ['/agent_config/mcp_servers/one'],
  ],
  [
    'a masked value that nothing stands behind',
    valid({ agent_config: { mcp_servers: { one: { command: 'x', env: { A: '***' } } } } }),
    ['/agent_config/mcp_servers/one/env/A'],
  ],
];

describe('400 with the pointer of the invalid field', () => {
  it.each(WRONG)('%s', async (_what, body, pointers) => {
    for (const line of [`POST ${SCHEDULES}`, `PUT ${at(id)}`])
      expect(pointersOf(await fixture.ask(400, line, body)).sort()).toEqual([...pointers].sort());
  });

  it('error table, 400: an invalid cron expression, with the field that failed, and why', async () => {
    const refused = await fixture.ask(400, `POST ${SCHEDULES}`, valid({ cron_schedule: '0 0 32 * *' }));
    expect(refused.detail).toBe('`cron_schedule` has an invalid day of the month: "32" must be 1 to 31.');
    const never = await fixture.ask(400, `POST ${SCHEDULES}`, valid({ cron_schedule: '0 0 30 2 *' }));
    expect(never.detail).toBe('`cron_schedule` is never due: no month "2" has a day "30".');
  });

  it('rejects an agent identity for a personal schedule with 400', async () => {
    const body = valid({ team: false, agent_uid: UNKNOWN });
    expect(pointersOf(await fixture.ask(400, `POST ${SCHEDULES}`, body))).toEqual(['/agent_uid']);
  });

  it('rejects team in an update with 400', async () => {
    expect(pointersOf(await fixture.ask(400, `PUT ${at(id)}`, valid({ team: true })))).toEqual(['/team']);
  });

  it('error table, 400 and 404: the schedule ID is missing; one that is no id, or nobody’s, is unknown', async () => {
    for (const [method, action] of [
      ['GET'],
      ['DELETE'],
      ['POST', 'pause'],
      ['POST', 'resume'],
      ['POST', 'run'],
    ] as const) {
      await fixture.ask(400, `${method} ${at('%20', action)}`);
      await fixture.ask(404, `${method} ${at('no-id', action)}`);
      await fixture.ask(404, `${method} ${at(UNKNOWN, action)}`);
    }
    await fixture.ask(400, `PUT ${at('%20')}`, valid());
    await fixture.ask(404, `PUT ${at('no-id')}`, valid());
    await fixture.ask(404, `PUT ${at(UNKNOWN)}`, valid());
  });
});

describe('403', () => {
  it('error table, 403: no permission on what a schedule refers to, the same as what does not exist', async () => {
    const { stranger } = fixture;
    const foreign = await fixture.askAs(stranger, 201, 'POST /environments', { body: { config: {} } });
    const identity = await fixture.askAs(stranger, 201, 'POST /agent/identities', { body: { name: 'theirs' } });
    for (const fields of [
      (uid: string) => ({ agent_config: { environment_id: uid } }),
      (uid: string) => ({ agent_config: { mcp_servers: { one: { warp_id: uid } } } }),
      (uid: string) => ({ agent_uid: uid }),
    ]) {
      const theirs = 'agent_uid' in fields('') ? identity.uid : foreign.uid;
      for (const line of [`POST ${SCHEDULES}`, `PUT ${at(id)}`]) {
        const { trace_id: _one, ...refused } = await fixture.ask(403, line, valid(fields(theirs)));
        const { trace_id: _other, ...unknown } = await fixture.ask(403, line, valid(fields(UNKNOWN)));
        expect(refused).toEqual(unknown);
        expect(refused.error_code).toBe('not_authorized');
      }
    }
  });

  it('error table, 403: feature_not_available where schedules are switched off; pausing and deleting still work', async () => {
    const { identities, database } = fixture.api;
    const team = await identities.team();
    const before = await identities.user({ [team]: 'member' });
    const create = () => fixture.askAs(before, 201, `POST ${SCHEDULES}`, { body: valid() });
    const [one, other] = [await create(), await create()];
    await database.query('UPDATE teams SET schedules = false WHERE uid = $1', [team]);
    const by = await identities.user({ [team]: 'admin' });
    const refused = [
      await fixture.askAs(by, 403, `POST ${SCHEDULES}`, { body: valid() }),
      await fixture.askAs(by, 403, `PUT ${at(one.id)}`, { body: valid() }),
      await fixture.askAs(by, 403, `POST ${at(one.id, 'resume')}`),
      await fixture.askAs(by, 403, `POST ${at(one.id, 'run')}`),
    ];
    expect(new Set(refused.map(({ error_code: code }) => code))).toEqual(new Set(['feature_not_available']));
    await fixture.askAs(by, 200, `GET ${at(one.id)}`);
    expect((await fixture.askAs(by, 200, `GET ${SCHEDULES}`)).schedules).toHaveLength(2);
    await fixture.askAs(by, 200, `POST ${at(one.id, 'pause')}`);
    await fixture.askAs(by, 200, `DELETE ${at(other.id)}`);
    await fixture.askAs(by, 201, `POST ${SCHEDULES}`, { body: valid({ team: false }) });
    await database.query('UPDATE teams SET schedules = true WHERE uid = $1', [team]);
    await fixture.askAs(await identities.user({ [team]: 'member' }), 200, `POST ${at(one.id, 'resume')}`);
  });

  it('rejects a schedule beyond 1,000 with limit_reached until one is deleted', async () => {
    const { identities, database } = fixture.api;
    const team = await identities.team();
    const by = await identities.user({ [team]: 'member' });
    const create = (status: number) => fixture.askAs(by, status, `POST ${SCHEDULES}`, { body: valid() });
    const first = await create(201);
    await database.query('UPDATE schedule_counts SET used = 999 WHERE used = 1 AND owner_key LIKE $1', [`%${team}%`]);
    await create(201);
    expect((await create(403)).error_code).toBe('limit_reached');
    await fixture.askAs(by, 200, `DELETE ${at(first.id)}`);
    const racers = await Promise.all(
      Array.from({ length: 5 }, () =>
        fetch(`${fixture.api.url}/api/v1${SCHEDULES}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${by.token}`, 'content-type': 'application/json' },
          body: JSON.stringify(valid()),
        }).then(({ status }) => status),
      ),
    );
    expect(racers.sort()).toEqual([201, 403, 403, 403, 403]);
  });

  it('error table, 403: no permission on the schedule: a viewer reads what the team has, and creates none', async () => {
    const { viewer } = fixture;
    await fixture.askAs(viewer, 200, `GET ${at(id)}`);
    await fixture.askAs(viewer, 403, `POST ${SCHEDULES}`, { body: valid() });
    await fixture.askAs(viewer, 403, `PUT ${at(id)}`, { body: valid() });
    for (const action of ['pause', 'resume', 'run']) await fixture.askAs(viewer, 403, `POST ${at(id, action)}`);
    await fixture.askAs(viewer, 403, `DELETE ${at(id)}`);
    await fixture.askAs(viewer, 403, `POST ${SCHEDULES}`, { body: valid({ team: false }) });
  });

  it('error table, 403: nobody but its owner reads or changes a personal schedule', async () => {
    const own = await fixture.askAs(fixture.member, 201, `POST ${SCHEDULES}`, { body: valid({ team: false }) });
    await fixture.askAs(fixture.member, 200, `PUT ${at(own.id)}`, { body: valid() });
    await fixture.askAs(fixture.admin, 403, `GET ${at(own.id)}`);
    await fixture.askAs(fixture.member, 200, `DELETE ${at(own.id)}`);
  });

  it('filters lists by the team header, and not access to a single schedule', async () => {
    const { both, otherTeam } = fixture;
    await fixture.askAs(both, 200, `GET ${at(id)}`, { headers: inTeam(otherTeam) });
    await fixture.askAs(both, 200, `POST ${at(id, 'pause')}`, { headers: inTeam(otherTeam) });
    await fixture.askAs(both, 200, `POST ${at(id, 'resume')}`, { headers: inTeam(otherTeam) });
  });
});

describe('size and type of the body', () => {
  it.each(['POST', 'PUT'])('%s', async (method) => {
    const line = `${method} ${method === 'POST' ? SCHEDULES : at(id)}`;
    const { token } = fixture.member;
    const large = await fixture.ask(413, line, valid({ prompt: 'x'.repeat(1_048_577) }));
    expect(pointersOf(large)).toEqual(['/prompt']);
    const config = await fixture.ask(413, line, valid({ agent_config: { base_prompt: 'x'.repeat(70_000) } }));
    expect(pointersOf(config)).toEqual(['/agent_config']);
    await fixture.api.request(413, line, {
      token,
      body: HUGE + ' '.repeat(4_000_000),
      contentType: 'application/json',
    });
    await fixture.api.request(415, line, { token, body: 'name=x', contentType: 'text/plain' });
  });
});
