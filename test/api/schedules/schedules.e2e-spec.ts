import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiFixture, scheduleBody, SCHEDULES } from '../../support/api-fixture.js';
import { inTeam } from '../../support/api-requests.js';

/** The path of a schedule, or of an action on it. */
const at = (id: string, action?: string): string => `${SCHEDULES}/${id}${action === undefined ? '' : `/${action}`}`;

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());

const now = async (): Promise<Date> => {
  const [row] = await fixture.database.query<{ now: Date }>('SELECT headrace.now() AS now');
  if (!row) throw new Error('The database has no time.');
  return row.now;
};
/** The next `count` times that it is three in the morning in UTC. */
const threes = async (count: number): Promise<string[]> => {
  const time = await now();
  const first = Date.UTC(time.getUTCFullYear(), time.getUTCMonth(), time.getUTCDate(), 3);
  const start = first > time.getTime() ? first : first + 24 * 3600_000;
  return Array.from({ length: count }, (_, index) => new Date(start + index * 24 * 3600_000).toISOString());
};
const run = async (id: string) =>
  (await fixture.requestAsMember(200, `GET /agent/runs/${id}`)) as Record<string, unknown>;

describe('createScheduledAgent', () => {
  it('returns 201 with defaults, the next due times and the creator', async () => {
    const made = await fixture.createSchedule();
    const upcoming = await threes(5);
    const who = expect.objectContaining({ type: 'user', uid: fixture.member.uid });
    expect(made).toEqual({
      ...scheduleBody(),
      id: expect.stringMatching(/^[A-Za-z0-9]{22}$/),
      timezone: 'UTC',
      paused_reason: null,
      mode: 'normal',
      overlap_policy: 'allow',
      jitter_seconds: 0,
      created_at: expect.stringMatching(/Z$/),
      updated_at: made.created_at,
      created_by: who,
      updated_by: who,
      history: { last_ran: null, next_run: upcoming[0], upcoming },
      last_spawn_error: null,
      scope: { type: 'Team', uid: fixture.team },
    });
    expect(await fixture.requestAsMember(200, `GET ${at(made.id)}`)).toEqual(made);
  });

  it('returns all fields, with due times in the requested time zone', async () => {
    const fields = {
      cron_schedule: '30 9 * * MON-fri',
      timezone: 'Asia/Kathmandu',
      mode: 'plan',
      metadata: { ticket: 'A-1' },
      overlap_policy: 'skip',
      jitter_seconds: 90,
      agent_config: { model_id: 'large', idle_timeout_minutes: 5 },
    };
    const made = await fixture.createSchedule(fields);
    expect(made).toMatchObject(fields);
    expect(made.history.upcoming).toHaveLength(5);
    for (const time of made.history.upcoming as string[]) expect(time.slice(11)).toBe('03:45:00.000Z');
  });

  it('creates a disabled schedule without a next due time', async () => {
    const made = await fixture.createSchedule({ enabled: false });
    expect(made).toMatchObject({ enabled: false, paused_reason: null });
    expect(made.history).toEqual({ last_ran: null, next_run: null, upcoming: [] });
  });

  it('returns the environment of the configuration or of the identity, with masked values', async () => {
    const config = { name: 'node', env: { TOKEN: 'env-in-clear' }, setup_commands: ['npm ci'] };
    const { uid } = await fixture.requestAs(fixture.admin, 201, 'POST /environments', { body: { config } });
    const shown = { ...config, env: { TOKEN: '***' } };
    const identity = await fixture.requestAs(fixture.admin, 201, 'POST /agent/identities', {
      body: { name: 'fixer', environment_id: uid },
    });
    expect((await fixture.createSchedule({ agent_config: { environment_id: uid } })).environment).toEqual(shown);
    const made = await fixture.createSchedule({ agent_uid: identity.uid });
    expect(made).toMatchObject({ agent_uid: identity.uid, environment: shown });
    const { schedules } = await fixture.requestAsMember(200, `GET ${SCHEDULES}`);
    expect(schedules.find(({ id }: { id: string }) => id === made.id)).toEqual(made);
    expect(JSON.stringify(schedules)).not.toContain('env-in-clear');
  });

  it('masks env and headers of MCP servers in all responses, and stores them encrypted', async () => {
    const servers = {
      docs: { url: 'https://docs.example.test/mcp', headers: { Authorization: 'header-in-clear' } },
      tool: { command: 'serve', env: { KEY: 'env-of-server-in-clear' } },
    };
    const made = await fixture.createSchedule({ agent_config: { mcp_servers: servers } });
    expect(made.agent_config.mcp_servers).toMatchObject({
      docs: { headers: { Authorization: '***' } },
      tool: { env: { KEY: '***' } },
    });
    const [row] = await fixture.database.query('SELECT s::text AS row FROM schedules s WHERE uid = $1', [made.id]);
    for (const text of [JSON.stringify(row), JSON.stringify(made), fixture.api.log.text])
      expect(text).not.toMatch(/in-clear/);
  });

  it('creates the schedule for the team of the header, or for the user', async () => {
    const { adminOfBoth: both, otherTeam } = fixture;
    const create = (team: boolean | undefined, headers = {}) =>
      fixture.requestAs(both, 201, `POST ${SCHEDULES}`, {
        body: scheduleBody({ ...(team !== undefined && { team }) }),
        headers,
      });
    expect((await create(undefined, inTeam(otherTeam))).scope).toEqual({ type: 'Team', uid: otherTeam });
    expect((await create(true, inTeam(otherTeam))).scope).toEqual({ type: 'Team', uid: otherTeam });
    expect((await create(false, inTeam(otherTeam))).scope).toEqual({ type: 'User', uid: both.uid });
    expect((await create(undefined)).scope).toEqual({ type: 'User', uid: both.uid });
    const refused = await fixture.requestAs(both, 400, `POST ${SCHEDULES}`, { body: scheduleBody({ team: true }) });
    expect(refused.errors).toEqual([{ pointer: '/team', detail: expect.stringContaining('X-Headrace-Team-Uid') }]);
  });
});

describe('listScheduledAgents', () => {
  it('has environments of up to 8 MiB, and a single schedule always its own', async () => {
    const config = { setup_commands: Array.from({ length: 10 }, () => 'x'.repeat(26_000)) };
    const { uid } = (await fixture.requestAsMember(201, 'POST /environments', { config, team: false })) as {
      uid: string;
    };
    for (let count = 0; count < 35; count += 1)
      await fixture.createSchedule({ team: false, agent_config: { environment_id: uid } });
    const { schedules } = (await fixture.requestAsMember(200, `GET ${SCHEDULES}`)) as {
      schedules: { id: string; environment?: object; agent_config?: { environment_id?: string } }[];
    };
    const large = schedules.filter(({ agent_config: asked }) => asked?.environment_id === uid);
    expect(large).toHaveLength(35);
    expect(large.filter(({ environment }) => environment !== undefined)).toHaveLength(33);
    const last = large.find(({ environment }) => environment === undefined);
    expect(await fixture.requestAsMember(200, `GET ${at(last?.id ?? '')}`)).toMatchObject({ environment: config });
  });

  it('sorts alphabetically by name without case, and cuts long prompts', async () => {
    const { identities } = fixture.api;
    const team = await identities.team();
    const by = await identities.user({ [team]: 'member' });
    const names = ['beta', 'Alpha', 'gamma', 'alpha', 'Beta', 'Émile', '2nd'];
    for (const name of names)
      await fixture.requestAs(by, 201, `POST ${SCHEDULES}`, { body: scheduleBody({ name, prompt: 'p'.repeat(3000) }) });
    const { schedules } = await fixture.requestAs(by, 200, `GET ${SCHEDULES}`);
    const listed = schedules.map(({ name }: { name: string }) => name);
    expect(listed).toHaveLength(names.length);
    const ascii = listed.filter((name: string) => name !== 'Émile');
    expect(ascii.map((name: string) => name.toLowerCase())).toEqual(['2nd', 'alpha', 'alpha', 'beta', 'beta', 'gamma']);
    for (const one of schedules) {
      expect(one.prompt).toHaveLength(2048);
      expect(one.history.upcoming).toHaveLength(5);
    }
  });

  it('lists personal schedules and those of all teams, or of the team of the header', async () => {
    const { adminOfBoth: both, team, otherTeam } = fixture;
    const create = async (fields: object, headers = {}): Promise<string> =>
      (await fixture.requestAs(both, 201, `POST ${SCHEDULES}`, { body: scheduleBody(fields), headers })).id;
    const mine = await create({ team: false });
    const one = await create({}, inTeam(team));
    const other = await create({}, inTeam(otherTeam));
    const list = async (headers = {}): Promise<string[]> =>
      (await fixture.requestAs(both, 200, `GET ${SCHEDULES}`, { headers })).schedules.map(
        ({ id }: { id: string }) => id,
      );
    expect(await list()).toEqual(expect.arrayContaining([mine, one, other]));
    expect(await list(inTeam(team))).toEqual(expect.arrayContaining([mine, one]));
    expect(await list(inTeam(team))).not.toContain(other);
    await fixture.requestAs(fixture.member, 403, `GET ${SCHEDULES}`, { headers: inTeam(otherTeam) });
  });
});

describe('updateScheduledAgent', () => {
  it('sets the given fields, and absent fields to their defaults', async () => {
    const made = await fixture.createSchedule({
      timezone: 'Europe/Berlin',
      mode: 'plan',
      metadata: { a: 'b' },
      overlap_policy: 'skip',
      jitter_seconds: 5,
      agent_config: { model_id: 'large' },
    });
    await fixture.api.advanceClock(1000);
    const body = { name: 'other', cron_schedule: '0 4 * * *', prompt: 'Something else.', enabled: true };
    const changed = await fixture.requestAs(fixture.admin, 200, `PUT ${at(made.id)}`, { body });
    expect(changed).toMatchObject({
      ...body,
      timezone: 'UTC',
      mode: 'normal',
      overlap_policy: 'allow',
      jitter_seconds: 0,
    });
    expect(changed).not.toHaveProperty('metadata');
    expect(changed.agent_config).toEqual({ model_id: 'large' });
    expect(changed.history.next_run).toMatch(/T04:00:00.000Z$/);
    expect(changed.created_by.uid).toBe(fixture.member.uid);
    expect(changed.updated_by.uid).toBe(fixture.admin.uid);
    expect(changed.updated_at > made.updated_at).toBe(true);
    expect(await fixture.requestAsMember(200, `GET ${at(made.id)}`)).toEqual(changed);
  });

  it('keeps an absent agent_config, clears it with null, and replaces it as a whole', async () => {
    const { id } = await fixture.createSchedule({ agent_config: { model_id: 'large', name: 'one' } });
    const put = (fields: object) => fixture.requestAsMember(200, `PUT ${at(id)}`, scheduleBody(fields));
    expect((await put({})).agent_config).toEqual({ model_id: 'large', name: 'one' });
    expect((await put({ agent_config: { name: 'two' } })).agent_config).toEqual({ name: 'two' });
    expect(await put({ agent_config: null })).not.toHaveProperty('agent_config');
    expect(await put({})).not.toHaveProperty('agent_config');
  });

  it('clears an absent agent_uid, as null does', async () => {
    const { uid } = await fixture.requestAs(fixture.admin, 201, 'POST /agent/identities', { body: { name: 'bot' } });
    const { id } = await fixture.createSchedule({ agent_uid: uid });
    expect(await fixture.requestAsMember(200, `PUT ${at(id)}`, scheduleBody({ agent_uid: uid }))).toMatchObject({
      agent_uid: uid,
    });
    expect(await fixture.requestAsMember(200, `PUT ${at(id)}`, scheduleBody({ agent_uid: null }))).not.toHaveProperty(
      'agent_uid',
    );
    await fixture.requestAsMember(200, `PUT ${at(id)}`, scheduleBody({ agent_uid: uid }));
    expect(await fixture.requestAsMember(200, `PUT ${at(id)}`, scheduleBody())).not.toHaveProperty('agent_uid');
  });

  it('accepts the response of a GET, masked values included', async () => {
    const agent_config = {
      mcp_servers: { docs: { url: 'https://d.example.test', headers: { Authorization: 'kept' } } },
    };
    const made = await fixture.createSchedule({ agent_config, metadata: { a: 'b' }, timezone: 'Europe/Berlin' });
    const { updated_at: _then, ...same } = made;
    const { updated_at: _now, ...changed } = await fixture.requestAsMember(200, `PUT ${at(made.id)}`, made);
    expect(changed).toEqual(same);
  });

  it('keeps a reference that was deleted meanwhile, and rejects another one', async () => {
    const { uid } = await fixture.requestAs(fixture.admin, 201, 'POST /environments', {
      body: { config: { name: 'gone' } },
    });
    const made = await fixture.createSchedule({ agent_config: { environment_id: uid } });
    await fixture.requestAs(fixture.admin, 204, `DELETE /environments/${uid}`);
    const body = scheduleBody({ agent_config: { environment_id: uid } });
    expect(await fixture.requestAsMember(200, `PUT ${at(made.id)}`, body)).not.toHaveProperty('environment');
    await fixture.requestAsMember(403, `PUT ${at((await fixture.createSchedule()).id)}`, body);
  });

  it('pauses with enabled false and resumes with enabled true', async () => {
    const { id } = await fixture.createSchedule();
    expect(
      (await fixture.requestAsMember(200, `PUT ${at(id)}`, scheduleBody({ enabled: false }))).history.next_run,
    ).toBeNull();
    expect(
      (await fixture.requestAsMember(200, `PUT ${at(id)}`, scheduleBody({ enabled: true }))).history.next_run,
    ).not.toBeNull();
  });
});

describe('pauseScheduledAgent and resumeScheduledAgent', () => {
  it('stops due times on pause and restores them on resume; both are idempotent', async () => {
    const { id, history } = await fixture.createSchedule();
    for (let times = 0; times < 2; times += 1) {
      const paused = await fixture.requestAsMember(200, `POST ${at(id, 'pause')}`);
      expect(paused).toMatchObject({ id, enabled: false, paused_reason: null });
      expect(paused.history).toEqual({ last_ran: null, next_run: null, upcoming: [] });
    }
    for (let times = 0; times < 2; times += 1)
      expect(await fixture.requestAsMember(200, `POST ${at(id, 'resume')}`)).toMatchObject({
        id,
        enabled: true,
        history,
      });
  });

  it('returns why the service has paused the schedule, until it is resumed', async () => {
    const { id } = await fixture.createSchedule();
    await fixture.requestAsMember(200, `POST ${at(id, 'pause')}`);
    await fixture.database.query(
      `UPDATE schedules SET paused_reason = 'It failed.', last_spawn_error = 'No.' WHERE uid = $1`,
      [id],
    );
    expect(await fixture.requestAsMember(200, `GET ${at(id)}`)).toMatchObject({
      paused_reason: 'It failed.',
      last_spawn_error: 'No.',
    });
    expect(await fixture.requestAsMember(200, `POST ${at(id, 'resume')}`)).toMatchObject({
      enabled: true,
      paused_reason: null,
    });
  });
});

describe('runScheduledAgent', () => {
  it('starts a run of a paused schedule too, with the schedule as it was', async () => {
    const { uid: environment } = await fixture.requestAs(fixture.admin, 201, 'POST /environments', {
      body: { config: {} },
    });
    const made = await fixture.createSchedule({
      name: 'by hand',
      agent_config: { environment_id: environment },
      metadata: { a: 'b' },
    });
    await fixture.requestAsMember(200, `POST ${at(made.id, 'pause')}`);
    const started = await fixture.requestAs(fixture.bot, 200, `POST ${at(made.id, 'run')}`);
    expect(started).toEqual({ run_id: expect.any(String), task_id: started.run_id, state: 'QUEUED' });
    await fixture.requestAsMember(200, `PUT ${at(made.id)}`, scheduleBody({ name: 'renamed', enabled: false }));
    expect(await run(started.run_id)).toMatchObject({
      title: 'by hand',
      prompt: made.prompt,
      source: 'SCHEDULED_AGENT',
      creator: { type: 'service_account', uid: fixture.bot.uid },
      schedule: { schedule_id: made.id, schedule_name: 'by hand', cron_schedule: made.cron_schedule },
      agent_config: { environment_id: environment },
      metadata: { a: 'b' },
      scope: { type: 'Team', uid: fixture.team },
    });
    const { runs } = await fixture.requestAsMember(200, `GET /agent/runs?schedule_id=${made.id}`);
    expect(runs.map(({ run_id }: { run_id: string }) => run_id)).toEqual([started.run_id]);
    const { enabled, history } = await fixture.requestAsMember(200, `GET ${at(made.id)}`);
    expect([enabled, history.last_ran, history.next_run]).toEqual([false, null, null]);
  });

  it('starts a personal run of a personal schedule, also with a team header', async () => {
    const { id } = await fixture.requestAs(fixture.member, 201, `POST ${SCHEDULES}`, {
      body: scheduleBody({ team: false }),
    });
    const { run_id } = await fixture.requestAs(fixture.member, 200, `POST ${at(id, 'run')}`);
    const { scope } = await fixture.requestAs(fixture.member, 200, `GET /agent/runs/${run_id}`);
    expect(scope).toEqual({ type: 'User', uid: fixture.member.uid });
  });

  it('rejects a reference that is not accessible any more with 403', async () => {
    const { uid } = await fixture.requestAs(fixture.admin, 201, 'POST /environments', { body: { config: {} } });
    const { id } = await fixture.createSchedule({ agent_config: { environment_id: uid } });
    await fixture.requestAs(fixture.admin, 204, `DELETE /environments/${uid}`);
    await fixture.requestAsMember(403, `POST ${at(id, 'run')}`);
  });

  it('rejects a schedule that cannot start a run with 400 that names its fields', async () => {
    const { id } = await fixture.createSchedule({ agent_config: { skill_spec: 'nowhere:nothing' } });
    const { errors } = await fixture.requestAsMember(400, `POST ${at(id, 'run')}`);
    expect(errors).toEqual([{ pointer: '/agent_config/skill_spec', detail: expect.any(String) }]);
  });
});

describe('deleteScheduledAgent', () => {
  it('deletes the schedule and keeps its runs', async () => {
    const { id } = await fixture.createSchedule();
    const { run_id } = await fixture.requestAsMember(200, `POST ${at(id, 'run')}`);
    expect(await fixture.requestAsMember(200, `DELETE ${at(id)}`)).toEqual({ success: true });
    for (const line of [`GET ${at(id)}`, `DELETE ${at(id)}`, `POST ${at(id, 'pause')}`, `POST ${at(id, 'resume')}`])
      await fixture.requestAsMember(404, line);
    await fixture.requestAsMember(404, `POST ${at(id, 'run')}`);
    await fixture.requestAsMember(404, `PUT ${at(id)}`, scheduleBody());
    expect(await run(run_id)).toMatchObject({ schedule: { schedule_id: id } });
    expect(await fixture.database.query('SELECT 1 FROM timers WHERE key = $1', [id])).toEqual([]);
  });
});
