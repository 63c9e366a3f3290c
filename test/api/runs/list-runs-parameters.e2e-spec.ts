import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newUid } from '#platform/kernel';
import { offerSkills, type RunShape } from '#testing';
import { newTeam, refuses } from './list-team.js';
import { expectProblem, NO_RUN, openRunsRoom, type RunsRoom } from './runs-room.js';

/* A test for each row of the specification's table of query parameters, named after it, and for those of the contract. */

let room: RunsRoom;

beforeAll(async () => {
  room = await openRunsRoom();
  offerSkills(room.api.app);
});
afterAll(() => room.close());
beforeEach(() => room.api.log.clear());

const NOT_BLANK = 'must not be blank';

it('query parameter limit: 1 to 500, 20 when left out', async () => {
  const team = await newTeam(room);
  for (let index = 0; index < 21; index += 1) await team.run();
  expect(await team.find('')).toHaveLength(20);
  expect(await team.find('limit=1')).toHaveLength(1);
  expect(await team.find('limit=500')).toHaveLength(21);
  for (const limit of ['0', '501', 'x'])
    await refuses(room, `limit=${limit}`, '/limit', 'must be an integer between 1 and 500');
});

it('query parameter cursor: goes on behind the page before, with all filters, and with no others', async () => {
  const team = await newTeam(room);
  const built = [
    await team.run({ config: { name: 'a' } }),
    await team.run({ config: { name: 'a' } }),
    await team.run(),
  ];
  const { body } = await room.api.request(200, 'GET /agent/runs?limit=1&name=a', { token: team.who.token });
  const cursor = encodeURIComponent(body.page_info.next_cursor);
  const { body: next } = await room.api.request(200, `GET /agent/runs?limit=1&name=a&cursor=${cursor}`, {
    token: team.who.token,
  });
  expect([body.runs[0].run_id, next.runs[0].run_id].sort()).toEqual(built.slice(0, 2));
  expect(next.page_info).toEqual({ has_next_page: false });
  for (const other of [
    'name=b',
    'name=a&q=test',
    'name=a&metadata[a]=b',
    'name=a&created_after=2020-01-01T00:00:00Z',
  ]) {
    const answer = await room.api.request(400, `GET /agent/runs?${other}&cursor=${cursor}`, { token: team.who.token });
    expectProblem(room.api, answer, 'invalid_request', [
      { pointer: '/cursor', detail: 'is not a cursor of a list with this sort and these filters' },
    ]);
  }
});

it('query parameter cursor: the order of parameters, metadata pairs and states does not matter', async () => {
  const team = await newTeam(room);
  for (let index = 0; index < 2; index += 1) await team.run({ metadata: { a: '1', b: '2' } });
  const first = 'state=QUEUED&state=FAILED&metadata[a]=1&metadata[b]=2&limit=1';
  const { body } = await room.api.request(200, `GET /agent/runs?${first}`, { token: team.who.token });
  const second = `cursor=${encodeURIComponent(body.page_info.next_cursor)}&limit=1&metadata[b]=2&metadata[a]=1&state=FAILED&state=QUEUED`;
  const { body: next } = await room.api.request(200, `GET /agent/runs?${second}`, { token: team.who.token });
  expect(next.runs).toHaveLength(1);
  expect(next.runs[0].run_id).not.toBe(body.runs[0].run_id);
});

it('query parameter cursor: a position of any text finds its way back', async () => {
  const team = await newTeam(room);
  const titles = ['\u0001'.repeat(512), '"\\'.repeat(256), '漢'.repeat(512), '😀'.repeat(256)];
  for (const title of titles) await team.run({ title, config: { skill_spec: `a:${'漢'.repeat(1022)}` } });
  for (const sort of ['title', 'agent']) {
    const ids = new Set<string>();
    for (let cursor = ''; ;) {
      const { body } = await room.api.request(200, `GET /agent/runs?sort_by=${sort}&limit=1${cursor}`, {
        token: team.who.token,
      });
      ids.add(body.runs[0].run_id);
      if (!body.page_info.has_next_page) break;
      cursor = `&cursor=${encodeURIComponent(body.page_info.next_cursor)}`;
    }
    expect(ids.size).toBe(titles.length);
  }
});

it.each(['updated_at', 'created_at', 'title', 'agent'])(
  'query parameter sort_by: %s, in both of sort_order',
  async (sort) => {
    const team = await newTeam(room);
    const second = (value: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, value));
    const shape = (at: number, title: string, skill: string): Partial<RunShape> => ({
      createdAt: second(at),
      updatedAt: second(at + 60),
      title,
      config: { skill_spec: skill },
    });
    const built = [
      await team.run(shape(1, 'a title', 'a/b:a')),
      await team.run(shape(2, 'B title', 'a/b:b')),
      await team.run(shape(3, 'c title', 'a/b:c')),
    ];
    const ids = async (order: string): Promise<string[]> => {
      const { body } = await room.api.request(200, `GET /agent/runs?sort_by=${sort}${order}`, {
        token: team.who.token,
      });
      return (body.runs as { run_id: string }[]).map(({ run_id }) => run_id);
    };
    expect(await ids('&sort_order=asc')).toEqual(built);
    expect(await ids('')).toEqual([...built].reverse());
    await refuses(room, 'sort_order=up', '/sort_order', 'must be one of asc, desc');
    await refuses(room, 'sort_by=state', '/sort_by', 'must be one of updated_at, created_at, title, agent');
  },
);

it('query parameter sort_by: agent has runs without a skill last in both directions', async () => {
  const team = await newTeam(room);
  const none = await team.run();
  await team.run({ config: { skill_spec: 'a/b:c' } });
  for (const order of ['asc', 'desc']) {
    const { body } = await room.api.request(200, `GET /agent/runs?sort_by=agent&sort_order=${order}`, {
      token: team.who.token,
    });
    expect(body.runs.at(-1).run_id).toBe(none);
  }
});

it('query parameter state: any of those given', async () => {
  const team = await newTeam(room);
  const [queued, failed] = [await team.run({ state: 'QUEUED' }), await team.run({ state: 'FAILED' })];
  await team.run({ state: 'SUCCEEDED' });
  expect(await team.find('state=FAILED')).toEqual([failed]);
  expect(await team.find('state=FAILED&state=QUEUED')).toEqual([queued, failed].sort());
  await refuses(room, 'state=FAILED,QUEUED', '/state/0', expect.stringContaining('must be one of') as string);
});

it('query parameter name: the name in the configuration', async () => {
  const team = await newTeam(room);
  const named = await team.run({ config: { name: 'Nightly 100% "fix"' } });
  await team.run({ config: { name: 'nightly' } });
  expect(await team.find(`name=${encodeURIComponent('Nightly 100% "fix"')}`)).toEqual([named]);
  expect(await team.find('name=Night')).toEqual([]);
  await refuses(room, 'name=', '/name', NOT_BLANK);
});

it('query parameter model_id: of the configuration or its harness', async () => {
  const team = await newTeam(room);
  const own = await team.run({ config: { model_id: 'large' } });
  const harness = await team.run({ config: { model_id: 'small', harness: { type: 'claude', model_id: 'large' } } });
  await team.run({ config: { model_id: 'larger' } });
  expect(await team.find('model_id=large')).toEqual([own, harness].sort());
  await refuses(room, 'model_id=a&model_id=b', '/model_id', 'must be a string');
});

it('query parameter creator: a user or a service account', async () => {
  const team = await newTeam(room);
  const bot = await room.api.identities.serviceAccount(team.uid);
  const byBot = await team.run({ by: bot });
  const byUser = await team.run();
  expect(await team.find(`creator=${bot.uid}`)).toEqual([byBot]);
  expect(await team.find(`creator=${team.who.uid}`)).toEqual([byUser]);
  expect(await team.find('creator=nobody')).toEqual([]);
});

it('query parameter executor: who executed it, not who created it', async () => {
  const team = await newTeam(room);
  const agent = newUid();
  const delegated = await team.run({ columns: { executor_type: 'service_account', executor_uid: agent } });
  await team.run();
  expect(await team.find(`executor=${agent}`)).toEqual([delegated]);
  expect(await team.find(`creator=${agent}`)).toEqual([]);
});

it('query parameter source', async () => {
  const team = await newTeam(room);
  const action = await team.run({ kind: 'github_action' });
  await team.run();
  expect(await team.find('source=GITHUB_ACTION')).toEqual([action]);
  await refuses(room, 'source=EMAIL', '/source', expect.stringContaining('must be one of API, CLI') as string);
});

it('query parameter execution_location', async () => {
  const team = await newTeam(room);
  const local = await team.run({ kind: 'local' });
  const remote = await team.run();
  expect(await team.find('execution_location=LOCAL')).toEqual([local]);
  expect(await team.find('execution_location=REMOTE')).toEqual([remote]);
  await refuses(room, 'execution_location=MOON', '/execution_location', 'must be one of LOCAL, REMOTE');
});

describe('query parameters created_after, created_before, updated_after', () => {
  const at = (time: string): Date => new Date(time);

  it('are strict, whatever the offset', async () => {
    const team = await newTeam(room);
    const early = await team.run({ createdAt: at('2026-03-01T10:00:00.500Z'), updatedAt: at('2026-03-05T10:00:00Z') });
    const late = await team.run({ createdAt: at('2026-03-02T10:00:00Z'), updatedAt: at('2026-03-04T10:00:00Z') });
    expect(await team.find('created_after=2026-03-01T10:00:00.500Z')).toEqual([late]);
    expect(await team.find('created_after=2026-03-01T10:00:00.499Z')).toEqual([early, late].sort());
    expect(await team.find('created_after=2026-03-01T12:00:00.500%2B02:00')).toEqual([late]);
    expect(await team.find('created_before=2026-03-02T10:00:00z')).toEqual([early]);
    expect(await team.find('created_before=2026-03-02T04:30:00.001-05:30')).toEqual([early, late].sort());
    expect(await team.find('updated_after=2026-03-04t10:00:00Z')).toEqual([early]);
    expect(await team.find('created_after=2026-03-01T10:00:00.5Z&created_before=2026-03-02T10:00:00Z')).toEqual([]);
    expect(await team.find('created_after=0000-01-01T00:00:00Z&created_before=9999-12-31T23:59:60Z')).toHaveLength(2);
  });

  it('mean what responses show: a run is not created after its own created_at', async () => {
    const team = await newTeam(room);
    const id = await team.run({ columns: { created_at: '2026-03-01T10:00:00.123999Z' } });
    const { body } = await room.api.request(200, `GET /agent/runs/${id}`, { token: team.who.token });
    expect(body.created_at).toBe('2026-03-01T10:00:00.123Z');
    expect(await team.find(`created_after=${body.created_at}`)).toEqual([]);
    expect(await team.find(`created_before=${body.created_at}`)).toEqual([]);
  });

  it.each([
    '2026-02-30T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:61Z',
    '2026-01-01T00:00:00',
    '2026-01-01',
    '2026-01-01%2000:00:00Z',
    '1767225600',
    'yesterday',
    '',
  ])('%s is no time: 400', async (value) => {
    for (const name of ['created_after', 'created_before', 'updated_after'])
      await refuses(room, `${name}=${value}`, `/${name}`, 'must be a time in RFC 3339, such as 2026-11-30T09:00:00Z');
  });

  it('a plus sign that became a space is explained', async () => {
    await refuses(
      room,
      'created_after=2026-01-01T00:00:00+02:00',
      '/created_after',
      'must have the + of its offset encoded as %2B: a plain + in a query string is a space',
    );
  });
});

it('query parameter environment_id: one, or empty-environment for runs that have none', async () => {
  const team = await newTeam(room);
  const environment = newUid();
  const inside = await team.run({ config: { environment_id: environment } });
  const outside = await team.run();
  expect(await team.find(`environment_id=${environment}`)).toEqual([inside]);
  expect(await team.find('environment_id=empty-environment')).toEqual([outside]);
  expect(await team.find(`environment_id=${newUid()}`)).toEqual([]);
  for (const value of ['', 'short', 'a'.repeat(23), `${'a'.repeat(21)}-`])
    await refuses(
      room,
      `environment_id=${value}`,
      '/environment_id',
      'must be exactly 22 letters or digits, or `empty-environment`',
    );
});

it('query parameters skill and skill_spec: the same filter', async () => {
  const team = await newTeam(room);
  const spec = 'acme/app:.agents/skills/review/SKILL.md';
  const skilled = await team.run({ config: { skill_spec: spec } });
  await team.run({ config: { skill_spec: 'acme/app:review' } });
  const value = encodeURIComponent(spec);
  expect(await team.find(`skill=${value}`)).toEqual([skilled]);
  expect(await team.find(`skill_spec=${value}`)).toEqual([skilled]);
  expect(await team.find(`skill=${value}&skill_spec=${value}`)).toEqual([skilled]);
  await refuses(
    room,
    'skill=a:b&skill_spec=a:c',
    '/skill',
    'must be the same as skill_spec, or one of them be left out',
  );
});

it('query parameter skill_spec: specs that differ late only are two', async () => {
  const team = await newTeam(room);
  const [one, two] = [`a:${'x'.repeat(700)}1`, `a:${'x'.repeat(700)}2`];
  const id = await team.run({ config: { skill_spec: one } });
  await team.run({ config: { skill_spec: two } });
  const { body } = await room.api.request(200, `GET /agent/runs?sort_by=agent&skill_spec=${one}`, {
    token: team.who.token,
  });
  expect(body.runs.map(({ run_id }: { run_id: string }) => run_id)).toEqual([id]);
});

it('query parameter schedule_id: runs that the schedule created', async () => {
  const team = await newTeam(room);
  const schedule = { schedule_id: newUid(), schedule_name: 'Nightly', cron_schedule: '0 3 * * *' };
  const scheduled = await team.run({ columns: { schedule: JSON.stringify(schedule), source: 'SCHEDULED_AGENT' } });
  await team.run();
  expect(await team.find(`schedule_id=${schedule.schedule_id}`)).toEqual([scheduled]);
  expect(await team.find('schedule_id=another')).toEqual([]);
});

describe('query parameter ancestor_run_id', () => {
  const below = (...ancestors: string[]): Partial<RunShape> => ({
    columns: { parent_run_id: ancestors.at(-1), ancestor_run_ids: ancestors },
  });

  it('finds children and theirs, at any depth', async () => {
    const team = await newTeam(room);
    const top = await team.run();
    const child = await team.run(below(top));
    const grandchild = await team.run(below(top, child));
    expect(await team.find(`ancestor_run_id=${top}`)).toEqual([child, grandchild].sort());
    expect(await team.find(`ancestor_run_id=${top.toUpperCase()}`)).toHaveLength(2);
    expect(await team.find(`ancestor_run_id=${child}`)).toEqual([grandchild]);
    expect(await team.find(`ancestor_run_id=${grandchild}`)).toEqual([]);
  });

  it('must exist and be accessible: else 400, the same for both', async () => {
    const foreign = (await room.runs.build({ by: room.stranger, team: room.otherTeam })).id;
    for (const id of [foreign, NO_RUN, 'nonsense'])
      await refuses(
        room,
        `ancestor_run_id=${id}`,
        '/ancestor_run_id',
        'must be a run that exists and that you may see',
      );
  });
});

describe('query parameter metadata', () => {
  it('pairs combine with AND, exactly', async () => {
    const team = await newTeam(room);
    const both = await team.run({ metadata: { ticket: 'T-1', 'a.b_c-d': 'ü=&', '0': '' } });
    const one = await team.run({ metadata: { ticket: 'T-1' } });
    await team.run({ metadata: { Ticket: 'T-1', other: 'T-12' } });
    await team.run();
    expect(await team.find('metadata[ticket]=T-1')).toEqual([both, one].sort());
    expect(await team.find(`metadata[ticket]=T-1&metadata[a.b_c-d]=${encodeURIComponent('ü=&')}`)).toEqual([both]);
    expect(await team.find('metadata%5B0%5D=')).toEqual([both]);
    expect(await team.find('metadata[ticket]=T-')).toEqual([]);
    expect(await team.find('metadata[ticket]=T-1&metadata[nothing]=x')).toEqual([]);
    expect(await team.find('metadata[toString]=x')).toEqual([]);
  });

  it('at most 5 pairs, in deepObject style, with keys and values as on create: else 400', async () => {
    const pairs = (count: number): string =>
      Array.from({ length: count }, (_, index) => `metadata[k${index}]=v`).join('&');
    const team = await newTeam(room);
    expect(await team.find(pairs(5))).toEqual([]);
    await refuses(room, pairs(6), '/metadata', 'must not exceed 5 entries');
    await refuses(room, 'metadata=x', '/metadata', 'must be an object');
    await refuses(room, 'metadata[k]=a&metadata[k]=b', '/metadata/k', 'must be a string');
    await refuses(
      room,
      'metadata[a b]=c',
      '/metadata/a b',
      'is not a valid key: it must be 1 to 64 of A-Z a-z 0-9 . _ -',
    );
    await refuses(room, 'metadata[]=c', '/metadata/', 'is not a valid key: it must be 1 to 64 of A-Z a-z 0-9 . _ -');
    await refuses(room, `metadata[k]=${'x'.repeat(257)}`, '/metadata/k', 'must not exceed 256 bytes in UTF-8');
    await refuses(room, 'metadata[__proto__]=x', '/metadata/__proto__', 'is not a known field');
    await refuses(room, 'metadata[a][b]=x', '/metadata[a][b]', 'is not a known field (did you mean `metadata`?)');
  });

  it('switched off for the team: 403 feature_not_available', async () => {
    const team = await newTeam(room);
    await room.api.database.query('UPDATE teams SET metadata_filter = false WHERE uid = $1', [team.uid]);
    const answer = await room.api.request(403, 'GET /agent/runs?metadata[a]=b', { token: team.who.token });
    expectProblem(room.api, answer, 'feature_not_available');
    const automation = await team.run({ metadata: { automation_id: 'm1' } });
    expect(await team.find('automation_id=m1')).toEqual([automation]);
  });
});

it('query parameters automation_id and factory_uid: stamped by the platform, beside the pairs of metadata', async () => {
  const team = await newTeam(room);
  const metadata = { automation_id: 'm1', factory_uid: 'f1', a: '1', b: '1', c: '1', d: '1', e: '1' };
  const stamped = await team.run({ metadata });
  await team.run({ metadata: { automation_id: 'm2' } });
  const pairs = ['a', 'b', 'c', 'd', 'e'].map((key) => `metadata[${key}]=1`).join('&');
  expect(await team.find(`automation_id=m1&factory_uid=f1&${pairs}`)).toEqual([stamped]);
  expect(await team.find('automation_id=m1&metadata[automation_id]=m2')).toEqual([]);
});

it.each(['PLAN', 'PULL_REQUEST', 'SCREENSHOT', 'FILE', 'EXTERNAL_REFERENCE'])(
  'query parameter artifact_type: %s',
  async (type) => {
    const team = await newTeam(room);
    const [has, hasOther] = [await team.run(), await team.run()];
    await team.run();
    for (const [run, artifact] of [
      [has, type],
      [has, type],
      [hasOther, type === 'PLAN' ? 'FILE' : 'PLAN'],
    ] as const)
      await room.api.database.query(
        `INSERT INTO artifacts (uid, run_id, slot_key, source_key, artifact_type, data, object_key, locator, run_created_at, created_at)
       SELECT $2, id, slot_key, $2, $3, '{}', CASE WHEN $3 IN ('PLAN','SCREENSHOT','FILE') THEN $2 END,
              CASE WHEN $3 = 'EXTERNAL_REFERENCE' THEN $2 END, created_at, created_at FROM runs WHERE id = $1`,
        [run, newUid(), artifact],
      );
    expect(await team.find(`artifact_type=${type}`)).toEqual([has]);
    await refuses(
      room,
      'artifact_type=SONG',
      '/artifact_type',
      expect.stringContaining('must be one of PLAN') as string,
    );
  },
);

it.each([
  ['alone', {}],
  ['with an Idempotency-Key', { 'Idempotency-Key': newUid() }],
])('a run that was created through the API (%s) is found by what it was created with', async (_name, headers) => {
  const team = await newTeam(room);
  await team.run();
  const parent = await team.run();
  const { body } = await room.api.request(200, 'POST /agent/runs', {
    token: team.who.token,
    headers,
    body: {
      prompt: 'Rewrite the changelog.',
      title: 'Housekeeping',
      parent_run_id: parent,
      metadata: { ticket: 'T-7' },
      config: { name: 'tidy', model_id: 'auto', skill_spec: 'acme/app:review' },
    },
  });
  for (const query of [
    'name=tidy',
    'model_id=auto',
    'skill=acme/app:review',
    'metadata[ticket]=T-7',
    `ancestor_run_id=${parent}`,
    'q=changelog',
    'q=housekeeping+rewrite',
  ])
    expect(await team.find(query), query).toEqual([body.run_id]);
  for (const query of [`creator=${team.who.uid}`, 'source=ORCHESTRATION', 'environment_id=empty-environment'])
    expect(await team.find(query), query).toContain(body.run_id);
});
