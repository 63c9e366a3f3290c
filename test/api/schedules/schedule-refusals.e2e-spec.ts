import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiFixture, scheduleBody, SCHEDULES } from '../../support/api-fixture.js';
import { inTeam, OVERSIZED_BODY, pointersOf, UNKNOWN_UID } from '../../support/api-requests.js';

/** The path of a schedule, or of an action on it. */
const at = (id: string, action?: string): string => `${SCHEDULES}/${id}${action === undefined ? '' : `/${action}`}`;

let fixture: ApiFixture;
let id: string;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  ({ id } = await fixture.createSchedule());
});
afterAll(() => fixture.close());

const without = (...names: string[]): object =>
  Object.fromEntries(Object.entries(scheduleBody()).filter(([name]) => !names.includes(name)));

/** Bodies that neither create nor update takes, and where their errors point. */
const WRONG: readonly (readonly [what: string, body: unknown, pointers: string[]])[] = [
  ['nothing', {}, ['/name', '/cron_schedule', '/prompt', '/enabled']],
  ['no name', without('name'), ['/name']],
  ['no cron_schedule', without('cron_schedule'), ['/cron_schedule']],
  ['no prompt', without('prompt'), ['/prompt']],
  ['no enabled', without('enabled'), ['/enabled']],
  ['a blank name', scheduleBody({ name: ' ' }), ['/name']],
  ['a long name', scheduleBody({ name: 'x'.repeat(201) }), ['/name']],
  ['a blank prompt', scheduleBody({ prompt: '\n' }), ['/prompt']],
  ['enabled as text', scheduleBody({ enabled: 'true' }), ['/enabled']],
  ['an unknown key', scheduleBody({ cron: '* * * * *' }), ['/cron']],
  ['six fields', scheduleBody({ cron_schedule: '0 0 3 * * *' }), ['/cron_schedule']],
  ['no fields', scheduleBody({ cron_schedule: '' }), ['/cron_schedule']],
  ['a descriptor', scheduleBody({ cron_schedule: '@daily' }), ['/cron_schedule']],
  ['a zone in the expression', scheduleBody({ cron_schedule: 'CRON_TZ=Europe/Berlin 0 3 * * *' }), ['/cron_schedule']],
  ['30 February', scheduleBody({ cron_schedule: '0 0 30 2 *' }), ['/cron_schedule']],
  ['a long expression', scheduleBody({ cron_schedule: `${'1,'.repeat(300)}1 * * * *` }), ['/cron_schedule']],
  ['an unknown zone', scheduleBody({ timezone: 'Europe/Atlantis' }), ['/timezone']],
  ['an offset as zone', scheduleBody({ timezone: '+02:00' }), ['/timezone']],
  ['an unknown policy', scheduleBody({ overlap_policy: 'queue' }), ['/overlap_policy']],
  ['negative jitter', scheduleBody({ jitter_seconds: -1 }), ['/jitter_seconds']],
  ['too much jitter', scheduleBody({ jitter_seconds: 3601 }), ['/jitter_seconds']],
  ['half a second', scheduleBody({ jitter_seconds: 0.5 }), ['/jitter_seconds']],
  ['an unknown mode', scheduleBody({ mode: 'fast' }), ['/mode']],
  ['a key of metadata', scheduleBody({ metadata: { 'a b': 'c' } }), ['/metadata/a b']],
  ['an unknown key in agent_config', scheduleBody({ agent_config: { nothing: 1 } }), ['/agent_config/nothing']],
  ['a reserved worker', scheduleBody({ agent_config: { worker_host: 'Warp-1' } }), ['/agent_config/worker_host']],
  [
    'two ways to name skills',
    scheduleBody({ agent_config: { skill_spec: 'a/b:c', skills: ['a/b:c'] } }),
    ['/agent_config/skills'],
  ],
  [
    'a server with two ways to be reached',
    scheduleBody({ agent_config: { mcp_servers: { one: { command: 'x', url: 'https://x.example.test' } } } }),
    ['/agent_config/mcp_servers/one'],
  ],
  [
    'a masked value that nothing stands behind',
    scheduleBody({ agent_config: { mcp_servers: { one: { command: 'x', env: { A: '***' } } } } }),
    ['/agent_config/mcp_servers/one/env/A'],
  ],
];

describe('400 with the pointer of the invalid field', () => {
  it.each(WRONG)('%s', async (_what, body, pointers) => {
    for (const line of [`POST ${SCHEDULES}`, `PUT ${at(id)}`])
      expect(pointersOf(await fixture.requestAsMember(400, line, body)).sort()).toEqual([...pointers].sort());
  });

  it('error table, 400: an invalid cron expression, with the field that failed, and why', async () => {
    const refused = await fixture.requestAsMember(
      400,
      `POST ${SCHEDULES}`,
      scheduleBody({ cron_schedule: '0 0 32 * *' }),
    );
    expect(refused.detail).toBe('`cron_schedule` has an invalid day of the month: "32" must be 1 to 31.');
    const never = await fixture.requestAsMember(
      400,
      `POST ${SCHEDULES}`,
      scheduleBody({ cron_schedule: '0 0 30 2 *' }),
    );
    expect(never.detail).toBe('`cron_schedule` is never due: no month "2" has a day "30".');
  });

  it('rejects an agent identity for a personal schedule with 400', async () => {
    const body = scheduleBody({ team: false, agent_uid: UNKNOWN_UID });
    expect(pointersOf(await fixture.requestAsMember(400, `POST ${SCHEDULES}`, body))).toEqual(['/agent_uid']);
  });

  it('rejects team in an update with 400', async () => {
    expect(pointersOf(await fixture.requestAsMember(400, `PUT ${at(id)}`, scheduleBody({ team: true })))).toEqual([
      '/team',
    ]);
  });

  it('error table, 400 and 404: the schedule ID is missing; one that is no id, or nobody’s, is unknown', async () => {
    for (const [method, action] of [
      ['GET'],
      ['DELETE'],
      ['POST', 'pause'],
      ['POST', 'resume'],
      ['POST', 'run'],
    ] as const) {
      await fixture.requestAsMember(400, `${method} ${at('%20', action)}`);
      await fixture.requestAsMember(404, `${method} ${at('no-id', action)}`);
      await fixture.requestAsMember(404, `${method} ${at(UNKNOWN_UID, action)}`);
    }
    await fixture.requestAsMember(400, `PUT ${at('%20')}`, scheduleBody());
    await fixture.requestAsMember(404, `PUT ${at('no-id')}`, scheduleBody());
    await fixture.requestAsMember(404, `PUT ${at(UNKNOWN_UID)}`, scheduleBody());
  });
});

describe('403', () => {
  it('error table, 403: no permission on what a schedule refers to, the same as what does not exist', async () => {
    const { stranger } = fixture;
    const foreign = await fixture.requestAs(stranger, 201, 'POST /environments', { body: { config: {} } });
    const identity = await fixture.requestAs(stranger, 201, 'POST /agent/identities', { body: { name: 'theirs' } });
    for (const fields of [
      (uid: string) => ({ agent_config: { environment_id: uid } }),
      (uid: string) => ({ agent_config: { mcp_servers: { one: { warp_id: uid } } } }),
      (uid: string) => ({ agent_uid: uid }),
    ]) {
      const theirs = 'agent_uid' in fields('') ? identity.uid : foreign.uid;
      for (const line of [`POST ${SCHEDULES}`, `PUT ${at(id)}`]) {
        const { trace_id: _one, ...refused } = await fixture.requestAsMember(403, line, scheduleBody(fields(theirs)));
        const { trace_id: _other, ...unknown } = await fixture.requestAsMember(
          403,
          line,
          scheduleBody(fields(UNKNOWN_UID)),
        );
        expect(refused).toEqual(unknown);
        expect(refused.error_code).toBe('not_authorized');
      }
    }
  });

  it('error table, 403: feature_not_available where schedules are switched off; pausing and deleting still work', async () => {
    const { identities, database } = fixture.api;
    const team = await identities.team();
    const before = await identities.user({ [team]: 'member' });
    const create = () => fixture.requestAs(before, 201, `POST ${SCHEDULES}`, { body: scheduleBody() });
    const [one, other] = [await create(), await create()];
    await database.query('UPDATE teams SET schedules = false WHERE uid = $1', [team]);
    const by = await identities.user({ [team]: 'admin' });
    const refused = [
      await fixture.requestAs(by, 403, `POST ${SCHEDULES}`, { body: scheduleBody() }),
      await fixture.requestAs(by, 403, `PUT ${at(one.id)}`, { body: scheduleBody() }),
      await fixture.requestAs(by, 403, `POST ${at(one.id, 'resume')}`),
      await fixture.requestAs(by, 403, `POST ${at(one.id, 'run')}`),
    ];
    expect(new Set(refused.map(({ error_code: code }) => code))).toEqual(new Set(['feature_not_available']));
    await fixture.requestAs(by, 200, `GET ${at(one.id)}`);
    expect((await fixture.requestAs(by, 200, `GET ${SCHEDULES}`)).schedules).toHaveLength(2);
    await fixture.requestAs(by, 200, `POST ${at(one.id, 'pause')}`);
    await fixture.requestAs(by, 200, `DELETE ${at(other.id)}`);
    await fixture.requestAs(by, 201, `POST ${SCHEDULES}`, { body: scheduleBody({ team: false }) });
    await database.query('UPDATE teams SET schedules = true WHERE uid = $1', [team]);
    await fixture.requestAs(await identities.user({ [team]: 'member' }), 200, `POST ${at(one.id, 'resume')}`);
  });

  it('rejects a schedule beyond 1,000 with limit_reached until one is deleted', async () => {
    const { identities, database } = fixture.api;
    const team = await identities.team();
    const by = await identities.user({ [team]: 'member' });
    const create = (status: number) => fixture.requestAs(by, status, `POST ${SCHEDULES}`, { body: scheduleBody() });
    const first = await create(201);
    await database.query('UPDATE schedule_counts SET used = 999 WHERE used = 1 AND owner_key LIKE $1', [`%${team}%`]);
    await create(201);
    expect((await create(403)).error_code).toBe('limit_reached');
    await fixture.requestAs(by, 200, `DELETE ${at(first.id)}`);
    const racers = await Promise.all(
      Array.from({ length: 5 }, () =>
        fetch(`${fixture.api.url}/api/v1${SCHEDULES}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${by.token}`, 'content-type': 'application/json' },
          body: JSON.stringify(scheduleBody()),
        }).then(({ status }) => status),
      ),
    );
    expect(racers.sort()).toEqual([201, 403, 403, 403, 403]);
  });

  it('error table, 403: no permission on the schedule: a viewer reads what the team has, and creates none', async () => {
    const { viewer } = fixture;
    await fixture.requestAs(viewer, 200, `GET ${at(id)}`);
    await fixture.requestAs(viewer, 403, `POST ${SCHEDULES}`, { body: scheduleBody() });
    await fixture.requestAs(viewer, 403, `PUT ${at(id)}`, { body: scheduleBody() });
    for (const action of ['pause', 'resume', 'run']) await fixture.requestAs(viewer, 403, `POST ${at(id, action)}`);
    await fixture.requestAs(viewer, 403, `DELETE ${at(id)}`);
    await fixture.requestAs(viewer, 403, `POST ${SCHEDULES}`, { body: scheduleBody({ team: false }) });
  });

  it('error table, 403: nobody but its owner reads or changes a personal schedule', async () => {
    const own = await fixture.requestAs(fixture.member, 201, `POST ${SCHEDULES}`, {
      body: scheduleBody({ team: false }),
    });
    await fixture.requestAs(fixture.member, 200, `PUT ${at(own.id)}`, { body: scheduleBody() });
    await fixture.requestAs(fixture.admin, 403, `GET ${at(own.id)}`);
    await fixture.requestAs(fixture.member, 200, `DELETE ${at(own.id)}`);
  });

  it('filters lists by the team header, and not access to a single schedule', async () => {
    const { adminOfBoth: both, otherTeam } = fixture;
    await fixture.requestAs(both, 200, `GET ${at(id)}`, { headers: inTeam(otherTeam) });
    await fixture.requestAs(both, 200, `POST ${at(id, 'pause')}`, { headers: inTeam(otherTeam) });
    await fixture.requestAs(both, 200, `POST ${at(id, 'resume')}`, { headers: inTeam(otherTeam) });
  });
});

describe('size and type of the body', () => {
  it.each(['POST', 'PUT'])('%s', async (method) => {
    const line = `${method} ${method === 'POST' ? SCHEDULES : at(id)}`;
    const { token } = fixture.member;
    const large = await fixture.requestAsMember(413, line, scheduleBody({ prompt: 'x'.repeat(1_048_577) }));
    expect(pointersOf(large)).toEqual(['/prompt']);
    const config = await fixture.requestAsMember(
      413,
      line,
      scheduleBody({ agent_config: { base_prompt: 'x'.repeat(70_000) } }),
    );
    expect(pointersOf(config)).toEqual(['/agent_config']);
    await fixture.request(413, line, {
      token,
      body: OVERSIZED_BODY + ' '.repeat(4_000_000),
      contentType: 'application/json',
    });
    await fixture.request(415, line, { token, body: 'name=x', contentType: 'text/plain' });
  });
});
