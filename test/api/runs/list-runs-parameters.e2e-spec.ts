import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newUid } from '#platform/kernel';
import { offerSkills, type RunShape } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem, UNKNOWN_RUN_ID } from '../../support/api-requests.js';
import { createTeam, expectRejectedQuery } from './runs-of-team.js';

/* A test for each row of the specification's table of query parameters, named after it, and for those of the contract. */

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  offerSkills(fixture.api.app);
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

const NOT_BLANK = 'must not be blank';

it('query parameter limit: 1 to 500, 20 when left out', async () => {
  const team = await createTeam(fixture);
  for (let index = 0; index < 21; index += 1) await team.buildRun();
  expect(await team.findRuns('')).toHaveLength(20);
  expect(await team.findRuns('limit=1')).toHaveLength(1);
  expect(await team.findRuns('limit=500')).toHaveLength(21);
  for (const limit of ['0', '501', 'x'])
    await expectRejectedQuery(fixture, `limit=${limit}`, '/limit', 'must be an integer between 1 and 500');
});

it('query parameter cursor: continues behind the page before, with all filters, and with no others', async () => {
  const team = await createTeam(fixture);
  const built = [
    await team.buildRun({ config: { name: 'a' } }),
    await team.buildRun({ config: { name: 'a' } }),
    await team.buildRun(),
  ];
  const { body } = await fixture.request(200, 'GET /agent/runs?limit=1&name=a', { token: team.member.token });
  const cursor = encodeURIComponent(body.page_info.next_cursor);
  const { body: next } = await fixture.request(200, `GET /agent/runs?limit=1&name=a&cursor=${cursor}`, {
    token: team.member.token,
  });
  expect([body.runs[0].run_id, next.runs[0].run_id].sort()).toEqual(built.slice(0, 2));
  expect(next.page_info).toEqual({ has_next_page: false });
  for (const other of [
    'name=b',
    'name=a&q=test',
    'name=a&metadata[a]=b',
    'name=a&created_after=2020-01-01T00:00:00Z',
  ]) {
    const answer = await fixture.request(400, `GET /agent/runs?${other}&cursor=${cursor}`, {
      token: team.member.token,
    });
    expectProblem(fixture.api, answer, 'invalid_request', [
      { pointer: '/cursor', detail: 'is not a cursor of a list with this sort and these filters' },
    ]);
  }
});

it('query parameter cursor: the order of parameters, metadata pairs and states does not matter', async () => {
  const team = await createTeam(fixture);
  for (let index = 0; index < 2; index += 1) await team.buildRun({ metadata: { a: '1', b: '2' } });
  const first = 'state=QUEUED&state=FAILED&metadata[a]=1&metadata[b]=2&limit=1';
  const { body } = await fixture.request(200, `GET /agent/runs?${first}`, { token: team.member.token });
  const second = `cursor=${encodeURIComponent(body.page_info.next_cursor)}&limit=1&metadata[b]=2&metadata[a]=1&state=FAILED&state=QUEUED`;
  const { body: next } = await fixture.request(200, `GET /agent/runs?${second}`, { token: team.member.token });
  expect(next.runs).toHaveLength(1);
  expect(next.runs[0].run_id).not.toBe(body.runs[0].run_id);
});

it('query parameter cursor: a position of any text finds its way back', async () => {
  const team = await createTeam(fixture);
  const titles = ['\u0001'.repeat(512), '"\\'.repeat(256), '漢'.repeat(512), '😀'.repeat(256)];
  for (const title of titles) await team.buildRun({ title, config: { skill_spec: `a:${'漢'.repeat(1022)}` } });
  for (const sort of ['title', 'agent']) {
    const ids = new Set<string>();
    for (let cursor = ''; ;) {
      const { body } = await fixture.request(200, `GET /agent/runs?sort_by=${sort}&limit=1${cursor}`, {
        token: team.member.token,
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
    const team = await createTeam(fixture);
    const second = (value: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, value));
    const shape = (at: number, title: string, skill: string): Partial<RunShape> => ({
      createdAt: second(at),
      updatedAt: second(at + 60),
      title,
      config: { skill_spec: skill },
    });
    const built = [
      await team.buildRun(shape(1, 'a title', 'a/b:a')),
      await team.buildRun(shape(2, 'B title', 'a/b:b')),
      await team.buildRun(shape(3, 'c title', 'a/b:c')),
    ];
    const ids = async (order: string): Promise<string[]> => {
      const { body } = await fixture.request(200, `GET /agent/runs?sort_by=${sort}${order}`, {
        token: team.member.token,
      });
      return (body.runs as { run_id: string }[]).map(({ run_id }) => run_id);
    };
    expect(await ids('&sort_order=asc')).toEqual(built);
    expect(await ids('')).toEqual([...built].reverse());
    await expectRejectedQuery(fixture, 'sort_order=up', '/sort_order', 'must be one of asc, desc');
    await expectRejectedQuery(
      fixture,
      'sort_by=state',
      '/sort_by',
      'must be one of updated_at, created_at, title, agent',
    );
  },
);

it('query parameter sort_by: agent has runs without a skill last in both directions', async () => {
  const team = await createTeam(fixture);
  const none = await team.buildRun();
  await team.buildRun({ config: { skill_spec: 'a/b:c' } });
  for (const order of ['asc', 'desc']) {
    const { body } = await fixture.request(200, `GET /agent/runs?sort_by=agent&sort_order=${order}`, {
      token: team.member.token,
    });
    expect(body.runs.at(-1).run_id).toBe(none);
  }
});

it('query parameter state: any of those given', async () => {
  const team = await createTeam(fixture);
  const [queued, failed] = [await team.buildRun({ state: 'QUEUED' }), await team.buildRun({ state: 'FAILED' })];
  await team.buildRun({ state: 'SUCCEEDED' });
  expect(await team.findRuns('state=FAILED')).toEqual([failed]);
  expect(await team.findRuns('state=FAILED&state=QUEUED')).toEqual([queued, failed].sort());
  await expectRejectedQuery(
    fixture,
    'state=FAILED,QUEUED',
    '/state/0',
    expect.stringContaining('must be one of') as string,
  );
});

it('query parameter name: the name in the configuration', async () => {
  const team = await createTeam(fixture);
  const named = await team.buildRun({ config: { name: 'Nightly 100% "fix"' } });
  await team.buildRun({ config: { name: 'nightly' } });
  expect(await team.findRuns(`name=${encodeURIComponent('Nightly 100% "fix"')}`)).toEqual([named]);
  expect(await team.findRuns('name=Night')).toEqual([]);
  await expectRejectedQuery(fixture, 'name=', '/name', NOT_BLANK);
});

it('query parameter worker_host: the host in the configuration', async () => {
  const team = await createTeam(fixture);
  const named = await team.buildRun({ config: { worker_host: 'farm' } });
  await team.buildRun({ config: { worker_host: 'farm-2' } });
  await team.buildRun();
  expect(await team.findRuns('worker_host=farm')).toEqual([named]);
  expect(await team.findRuns('worker_host=Farm')).toEqual([]);
  await expectRejectedQuery(fixture, 'worker_host=', '/worker_host', NOT_BLANK);
});

it('query parameter model_id: of the configuration or its harness', async () => {
  const team = await createTeam(fixture);
  const own = await team.buildRun({ config: { model_id: 'large' } });
  const harness = await team.buildRun({
    config: { model_id: 'small', harness: { type: 'claude', model_id: 'large' } },
  });
  await team.buildRun({ config: { model_id: 'larger' } });
  expect(await team.findRuns('model_id=large')).toEqual([own, harness].sort());
  await expectRejectedQuery(fixture, 'model_id=a&model_id=b', '/model_id', 'must be a string');
});

it('query parameter creator: a user or a service account', async () => {
  const team = await createTeam(fixture);
  const bot = await fixture.api.identities.serviceAccount(team.uid);
  const byBot = await team.buildRun({ by: bot });
  const byUser = await team.buildRun();
  expect(await team.findRuns(`creator=${bot.uid}`)).toEqual([byBot]);
  expect(await team.findRuns(`creator=${team.member.uid}`)).toEqual([byUser]);
  expect(await team.findRuns('creator=nobody')).toEqual([]);
});

it('query parameter executor: who executed it, not who created it', async () => {
  const team = await createTeam(fixture);
  const agent = newUid();
  const delegated = await team.buildRun({ columns: { executor_type: 'service_account', executor_uid: agent } });
  await team.buildRun();
  expect(await team.findRuns(`executor=${agent}`)).toEqual([delegated]);
  expect(await team.findRuns(`creator=${agent}`)).toEqual([]);
});

it('query parameter source', async () => {
  const team = await createTeam(fixture);
  const action = await team.buildRun({ kind: 'github_action' });
  const webhook = await team.buildRun({ columns: { source: 'TEAMS' } });
  await team.buildRun();
  expect(await team.findRuns('source=GITHUB_ACTION')).toEqual([action]);
  expect(await team.findRuns('source=TEAMS&source=GITHUB_ACTION')).toEqual([action, webhook]);
  await expectRejectedQuery(
    fixture,
    'source=EMAIL',
    '/source/0',
    expect.stringContaining('must be one of API, CLI') as string,
  );
});

it('query parameter execution_location', async () => {
  const team = await createTeam(fixture);
  const local = await team.buildRun({ kind: 'local' });
  const remote = await team.buildRun();
  expect(await team.findRuns('execution_location=LOCAL')).toEqual([local]);
  expect(await team.findRuns('execution_location=REMOTE')).toEqual([remote]);
  await expectRejectedQuery(fixture, 'execution_location=MOON', '/execution_location', 'must be one of LOCAL, REMOTE');
});

describe('query parameters created_after, created_before, updated_after', () => {
  const at = (time: string): Date => new Date(time);

  it('are strict, whatever the offset', async () => {
    const team = await createTeam(fixture);
    const early = await team.buildRun({
      createdAt: at('2026-03-01T10:00:00.500Z'),
      updatedAt: at('2026-03-05T10:00:00Z'),
    });
    const late = await team.buildRun({ createdAt: at('2026-03-02T10:00:00Z'), updatedAt: at('2026-03-04T10:00:00Z') });
    expect(await team.findRuns('created_after=2026-03-01T10:00:00.500Z')).toEqual([late]);
    expect(await team.findRuns('created_after=2026-03-01T10:00:00.499Z')).toEqual([early, late].sort());
    expect(await team.findRuns('created_after=2026-03-01T12:00:00.500%2B02:00')).toEqual([late]);
    expect(await team.findRuns('created_before=2026-03-02T10:00:00z')).toEqual([early]);
    expect(await team.findRuns('created_before=2026-03-02T04:30:00.001-05:30')).toEqual([early, late].sort());
    expect(await team.findRuns('updated_after=2026-03-04t10:00:00Z')).toEqual([early]);
    expect(await team.findRuns('created_after=2026-03-01T10:00:00.5Z&created_before=2026-03-02T10:00:00Z')).toEqual([]);
    expect(await team.findRuns('created_after=0000-01-01T00:00:00Z&created_before=9999-12-31T23:59:60Z')).toHaveLength(
      2,
    );
  });

  it('mean what responses show: a run is not created after its own created_at', async () => {
    const team = await createTeam(fixture);
    const id = await team.buildRun({ columns: { created_at: '2026-03-01T10:00:00.123999Z' } });
    const { body } = await fixture.request(200, `GET /agent/runs/${id}`, { token: team.member.token });
    expect(body.created_at).toBe('2026-03-01T10:00:00.123Z');
    expect(await team.findRuns(`created_after=${body.created_at}`)).toEqual([]);
    expect(await team.findRuns(`created_before=${body.created_at}`)).toEqual([]);
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
      await expectRejectedQuery(
        fixture,
        `${name}=${value}`,
        `/${name}`,
        'must be a time in RFC 3339, such as 2026-11-30T09:00:00Z',
      );
  });

  it('a plus sign that became a space is explained', async () => {
    await expectRejectedQuery(
      fixture,
      'created_after=2026-01-01T00:00:00+02:00',
      '/created_after',
      'must have the + of its offset encoded as %2B: a plain + in a query string is a space',
    );
  });
});

it('query parameter environment_id: one, or empty-environment for runs that have none', async () => {
  const team = await createTeam(fixture);
  const environment = newUid();
  const inside = await team.buildRun({ config: { environment_id: environment } });
  const outside = await team.buildRun();
  expect(await team.findRuns(`environment_id=${environment}`)).toEqual([inside]);
  expect(await team.findRuns('environment_id=empty-environment')).toEqual([outside]);
  expect(await team.findRuns(`environment_id=${newUid()}`)).toEqual([]);
  for (const value of ['', 'short', 'a'.repeat(23), `${'a'.repeat(21)}-`])
    await expectRejectedQuery(
      fixture,
      `environment_id=${value}`,
      '/environment_id',
      'must be exactly 22 letters or digits, or `empty-environment`',
    );
});

it('query parameters skill and skill_spec: the same filter', async () => {
  const team = await createTeam(fixture);
  const spec = 'acme/app:.agents/skills/review/SKILL.md';
  const skilled = await team.buildRun({ config: { skill_spec: spec } });
  await team.buildRun({ config: { skill_spec: 'acme/app:review' } });
  const value = encodeURIComponent(spec);
  expect(await team.findRuns(`skill=${value}`)).toEqual([skilled]);
  expect(await team.findRuns(`skill_spec=${value}`)).toEqual([skilled]);
  expect(await team.findRuns(`skill=${value}&skill_spec=${value}`)).toEqual([skilled]);
  await expectRejectedQuery(
    fixture,
    'skill=a:b&skill_spec=a:c',
    '/skill',
    'must be the same as skill_spec, or one of them be left out',
  );
});

it('query parameter skill_spec: specs that differ late only are two', async () => {
  const team = await createTeam(fixture);
  const [one, two] = [`a:${'x'.repeat(700)}1`, `a:${'x'.repeat(700)}2`];
  const id = await team.buildRun({ config: { skill_spec: one } });
  await team.buildRun({ config: { skill_spec: two } });
  const { body } = await fixture.request(200, `GET /agent/runs?sort_by=agent&skill_spec=${one}`, {
    token: team.member.token,
  });
  expect(body.runs.map(({ run_id }: { run_id: string }) => run_id)).toEqual([id]);
});

it('query parameter schedule_id: runs that the schedule created', async () => {
  const team = await createTeam(fixture);
  const schedule = { schedule_id: newUid(), schedule_name: 'Nightly', cron_schedule: '0 3 * * *' };
  const scheduled = await team.buildRun({ columns: { schedule: JSON.stringify(schedule), source: 'SCHEDULED_AGENT' } });
  await team.buildRun();
  expect(await team.findRuns(`schedule_id=${schedule.schedule_id}`)).toEqual([scheduled]);
  expect(await team.findRuns('schedule_id=another')).toEqual([]);
});

describe('query parameter ancestor_run_id', () => {
  const below = (...ancestors: string[]): Partial<RunShape> => ({
    columns: { parent_run_id: ancestors.at(-1), ancestor_run_ids: ancestors },
  });

  it('finds children and theirs, at any depth', async () => {
    const team = await createTeam(fixture);
    const top = await team.buildRun();
    const child = await team.buildRun(below(top));
    const grandchild = await team.buildRun(below(top, child));
    expect(await team.findRuns(`ancestor_run_id=${top}`)).toEqual([child, grandchild].sort());
    expect(await team.findRuns(`ancestor_run_id=${top.toUpperCase()}`)).toHaveLength(2);
    expect(await team.findRuns(`ancestor_run_id=${child}`)).toEqual([grandchild]);
    expect(await team.findRuns(`ancestor_run_id=${grandchild}`)).toEqual([]);
  });

  it('must exist and be accessible: else 400, the same for both', async () => {
    const foreign = (await fixture.runs.build({ by: fixture.stranger, team: fixture.otherTeam })).id;
    for (const id of [foreign, UNKNOWN_RUN_ID, 'nonsense'])
      await expectRejectedQuery(
        fixture,
        `ancestor_run_id=${id}`,
        '/ancestor_run_id',
        'must be a run that exists and that you may see',
      );
  });
});

describe('query parameter metadata', () => {
  it('pairs combine with AND, exactly', async () => {
    const team = await createTeam(fixture);
    const both = await team.buildRun({ metadata: { ticket: 'T-1', 'a.b_c-d': 'ü=&', '0': '' } });
    const one = await team.buildRun({ metadata: { ticket: 'T-1' } });
    await team.buildRun({ metadata: { Ticket: 'T-1', other: 'T-12' } });
    await team.buildRun();
    expect(await team.findRuns('metadata[ticket]=T-1')).toEqual([both, one].sort());
    expect(await team.findRuns(`metadata[ticket]=T-1&metadata[a.b_c-d]=${encodeURIComponent('ü=&')}`)).toEqual([both]);
    expect(await team.findRuns('metadata%5B0%5D=')).toEqual([both]);
    expect(await team.findRuns('metadata[ticket]=T-')).toEqual([]);
    expect(await team.findRuns('metadata[ticket]=T-1&metadata[nothing]=x')).toEqual([]);
    expect(await team.findRuns('metadata[toString]=x')).toEqual([]);
  });

  it('at most 5 pairs, in deepObject style, with keys and values as on create: else 400', async () => {
    const pairs = (count: number): string =>
      Array.from({ length: count }, (_, index) => `metadata[k${index}]=v`).join('&');
    const team = await createTeam(fixture);
    expect(await team.findRuns(pairs(5))).toEqual([]);
    await expectRejectedQuery(fixture, pairs(6), '/metadata', 'must not exceed 5 entries');
    await expectRejectedQuery(fixture, 'metadata=x', '/metadata', 'must be an object');
    await expectRejectedQuery(fixture, 'metadata[k]=a&metadata[k]=b', '/metadata/k', 'must be a string');
    await expectRejectedQuery(
      fixture,
      'metadata[a b]=c',
      '/metadata/a b',
      'is not a valid key: it must be 1 to 64 of A-Z a-z 0-9 . _ -',
    );
    await expectRejectedQuery(
      fixture,
      'metadata[]=c',
      '/metadata/',
      'is not a valid key: it must be 1 to 64 of A-Z a-z 0-9 . _ -',
    );
    await expectRejectedQuery(
      fixture,
      `metadata[k]=${'x'.repeat(257)}`,
      '/metadata/k',
      'must not exceed 256 bytes in UTF-8',
    );
    await expectRejectedQuery(fixture, 'metadata[__proto__]=x', '/metadata/__proto__', 'is not a known field');
    await expectRejectedQuery(
      fixture,
      'metadata[a][b]=x',
      '/metadata[a][b]',
      'is not a known field (did you mean `metadata`?)',
    );
  });

  it('switched off for the team: 403 feature_not_available', async () => {
    const team = await createTeam(fixture);
    await fixture.database.query('UPDATE teams SET metadata_filter = false WHERE uid = $1', [team.uid]);
    const answer = await fixture.request(403, 'GET /agent/runs?metadata[a]=b', { token: team.member.token });
    expectProblem(fixture.api, answer, 'feature_not_available');
    const automation = await team.buildRun({ metadata: { automation_id: 'm1' } });
    expect(await team.findRuns('automation_id=m1')).toEqual([automation]);
  });
});

it('query parameters automation_id and factory_uid: stamped by the platform, beside the pairs of metadata', async () => {
  const team = await createTeam(fixture);
  const metadata = { automation_id: 'm1', factory_uid: 'f1', a: '1', b: '1', c: '1', d: '1', e: '1' };
  const stamped = await team.buildRun({ metadata });
  await team.buildRun({ metadata: { automation_id: 'm2' } });
  const pairs = ['a', 'b', 'c', 'd', 'e'].map((key) => `metadata[${key}]=1`).join('&');
  expect(await team.findRuns(`automation_id=m1&factory_uid=f1&${pairs}`)).toEqual([stamped]);
  expect(await team.findRuns('automation_id=m1&metadata[automation_id]=m2')).toEqual([]);
});

it('query parameters factory_uid and factory_only: runs of any of the factories, and of any factory', async () => {
  const team = await createTeam(fixture);
  const [first, second] = [
    await team.buildRun({ metadata: { factory_uid: 'f1' } }),
    await team.buildRun({ metadata: { factory_uid: 'f2', a: '1' } }),
  ];
  const other = await team.buildRun({ metadata: { a: '1' } });
  expect(await team.findRuns('factory_uid=f1&factory_uid=f2')).toEqual([first, second]);
  expect(await team.findRuns('factory_uid=f3')).toEqual([]);
  expect(await team.findRuns('factory_only=true')).toEqual([first, second]);
  expect(await team.findRuns('factory_only=true&metadata[a]=1')).toEqual([second]);
  expect(await team.findRuns('factory_only=false')).toEqual([first, second, other]);
  await expectRejectedQuery(fixture, 'factory_only=perhaps', '/factory_only', 'must be true or false');
  await expectRejectedQuery(fixture, 'factory_uid=%20', '/factory_uid/0', NOT_BLANK);
});

it('query parameter task_status: the state of the run, and running also while a run below it is active', async () => {
  const team = await createTeam(fixture);
  const root = await team.buildRun({ state: 'SUCCEEDED' });
  const below = (state: RunShape['state']) =>
    team.buildRun({ state, columns: { parent_run_id: root, ancestor_run_ids: `{${root}}` } });
  const [failed, blocked] = [await below('FAILED'), await below('BLOCKED')];
  const lost = await team.buildRun({ state: 'ERROR' });
  const cancelled = await team.buildRun({ state: 'CANCELLED' });
  expect(await team.findRuns('task_status=running')).toEqual([]);
  const working = await below('INPROGRESS');
  expect(await team.findRuns('task_status=running')).toEqual([root, working]);
  expect(await team.findRuns('task_status=complete')).toEqual([root]);
  expect(await team.findRuns('task_status=failed&task_status=blocked')).toEqual([failed, blocked, lost]);
  expect(await team.findRuns('task_status=cancelled&task_status=running')).toEqual([root, cancelled, working]);
  await expectRejectedQuery(
    fixture,
    'task_status=SUCCEEDED',
    '/task_status/0',
    'must be one of running, failed, blocked, cancelled, complete',
  );
});

it('query parameter q: the address of a run finds it', async () => {
  const team = await createTeam(fixture);
  const run = await team.buildRun();
  await team.buildRun();
  for (const address of [
    `${fixture.api.url}/runs/${run}`,
    `https://elsewhere.example.test/api/v1/agent/runs/${run.toUpperCase()}/timeline?limit=1`,
  ])
    expect(await team.findRuns(`q=${encodeURIComponent(address)}`)).toEqual([run]);
});

it.each(['PLAN', 'PULL_REQUEST', 'SCREENSHOT', 'FILE', 'DIFF', 'EXTERNAL_REFERENCE'])(
  'query parameter artifact_type: %s',
  async (type) => {
    const team = await createTeam(fixture);
    const [has, hasOther] = [await team.buildRun(), await team.buildRun()];
    await team.buildRun();
    for (const [run, artifact] of [
      [has, type],
      [has, type],
      [hasOther, type === 'PLAN' ? 'FILE' : 'PLAN'],
    ] as const)
      await fixture.database.query(
        `INSERT INTO artifacts (uid, run_id, slot_key, source_key, artifact_type, data, object_key, locator, run_created_at, created_at)
       SELECT $2, id, slot_key, $2, $3, '{}', CASE WHEN $3 IN ('PLAN','SCREENSHOT','FILE','DIFF') THEN $2 END,
              CASE WHEN $3 = 'EXTERNAL_REFERENCE' THEN $2 END, created_at, created_at FROM runs WHERE id = $1`,
        [run, newUid(), artifact],
      );
    expect(await team.findRuns(`artifact_type=${type}`)).toEqual([has]);
    await expectRejectedQuery(
      fixture,
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
  const team = await createTeam(fixture);
  await team.buildRun();
  const parent = await team.buildRun();
  const { body } = await fixture.request(200, 'POST /agent/runs', {
    token: team.member.token,
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
    expect(await team.findRuns(query), query).toEqual([body.run_id]);
  for (const query of [`creator=${team.member.uid}`, 'source=ORCHESTRATION', 'environment_id=empty-environment'])
    expect(await team.findRuns(query), query).toContain(body.run_id);
});
