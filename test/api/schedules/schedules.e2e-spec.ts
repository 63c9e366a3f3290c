import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inTeam } from '../agents/agents-room.js';
import { at, openSchedulesRoom, SCHEDULES, type SchedulesRoom, valid } from './schedules-room.js';

let room: SchedulesRoom;

beforeAll(async () => {
  room = await openSchedulesRoom();
});
afterAll(() => room.api.close());

const now = async (): Promise<Date> => {
  const [row] = await room.api.database.query<{ now: Date }>('SELECT headrace.now() AS now');
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
const run = async (id: string) => (await room.ask(200, `GET /agent/runs/${id}`)) as Record<string, unknown>;

describe('createScheduledAgent', () => {
  it('201: the schedule with defaults, its next due times and who made it', async () => {
    const made = await room.make();
    const upcoming = await threes(5);
    const who = expect.objectContaining({ type: 'user', uid: room.member.uid });
    expect(made).toEqual({
      ...valid(),
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
      scope: { type: 'Team', uid: room.team },
    });
    expect(await room.ask(200, `GET ${at(made.id)}`)).toEqual(made);
  });

  it('shows everything that can be said, in the time zone that was asked for', async () => {
    const fields = {
      cron_schedule: '30 9 * * MON-fri',
      timezone: 'Asia/Kathmandu',
      mode: 'plan',
      metadata: { ticket: 'A-1' },
      overlap_policy: 'skip',
      jitter_seconds: 90,
      agent_config: { model_id: 'large', idle_timeout_minutes: 5 },
    };
    const made = await room.make(fields);
    expect(made).toMatchObject(fields);
    expect(made.history.upcoming).toHaveLength(5);
    for (const time of made.history.upcoming as string[]) expect(time.slice(11)).toBe('03:45:00.000Z');
  });

  it('a disabled one waits for no time', async () => {
    const made = await room.make({ enabled: false });
    expect(made).toMatchObject({ enabled: false, paused_reason: null });
    expect(made.history).toEqual({ last_ran: null, next_run: null, upcoming: [] });
  });

  it('resolves its environment, from the configuration or the identity, with masked values', async () => {
    const config = { name: 'node', env: { TOKEN: 'env-in-clear' }, setup_commands: ['npm ci'] };
    const { uid } = await room.askAs(room.admin, 201, 'POST /environments', { body: { config } });
    const shown = { ...config, env: { TOKEN: '***' } };
    const identity = await room.askAs(room.admin, 201, 'POST /agent/identities', {
      body: { name: 'fixer', environment_id: uid },
    });
    expect((await room.make({ agent_config: { environment_id: uid } })).environment).toEqual(shown);
    const made = await room.make({ agent_uid: identity.uid });
    expect(made).toMatchObject({ agent_uid: identity.uid, environment: shown });
    const { schedules } = await room.ask(200, `GET ${SCHEDULES}`);
    expect(schedules.find(({ id }: { id: string }) => id === made.id)).toEqual(made);
    expect(JSON.stringify(schedules)).not.toContain('env-in-clear');
  });

  it('masks env and headers of MCP servers everywhere, and keeps them sealed', async () => {
    const servers = {
      docs: { url: 'https://docs.example.test/mcp', headers: { Authorization: 'header-in-clear' } },
      tool: { command: 'serve', env: { KEY: 'env-of-server-in-clear' } },
    };
    const made = await room.make({ agent_config: { mcp_servers: servers } });
    expect(made.agent_config.mcp_servers).toMatchObject({
      docs: { headers: { Authorization: '***' } },
      tool: { env: { KEY: '***' } },
    });
    const [row] = await room.api.database.query('SELECT s::text AS row FROM schedules s WHERE uid = $1', [made.id]);
    for (const text of [JSON.stringify(row), JSON.stringify(made), room.api.log.text])
      expect(text).not.toMatch(/in-clear/);
  });

  it('belongs to the team that the header names, or to the person', async () => {
    const { both, otherTeam } = room;
    const create = (team: boolean | undefined, headers = {}) =>
      room.askAs(both, 201, `POST ${SCHEDULES}`, { body: valid({ ...(team !== undefined && { team }) }), headers });
    expect((await create(undefined, inTeam(otherTeam))).scope).toEqual({ type: 'Team', uid: otherTeam });
    expect((await create(true, inTeam(otherTeam))).scope).toEqual({ type: 'Team', uid: otherTeam });
    expect((await create(false, inTeam(otherTeam))).scope).toEqual({ type: 'User', uid: both.uid });
    expect((await create(undefined)).scope).toEqual({ type: 'User', uid: both.uid });
    const refused = await room.askAs(both, 400, `POST ${SCHEDULES}`, { body: valid({ team: true }) });
    expect(refused.errors).toEqual([{ pointer: '/team', detail: expect.stringContaining('X-Headrace-Team-Uid') }]);
  });
});

describe('listScheduledAgents', () => {
  it('is sorted alphabetically by name, whatever the case; long prompts are cut', async () => {
    const { identities } = room.api;
    const team = await identities.team();
    const by = await identities.user({ [team]: 'member' });
    const names = ['beta', 'Alpha', 'gamma', 'alpha', 'Beta', 'Émile', '2nd'];
    for (const name of names)
      await room.askAs(by, 201, `POST ${SCHEDULES}`, { body: valid({ name, prompt: 'p'.repeat(3000) }) });
    const { schedules } = await room.askAs(by, 200, `GET ${SCHEDULES}`);
    const listed = schedules.map(({ name }: { name: string }) => name);
    expect(listed).toHaveLength(names.length);
    const ascii = listed.filter((name: string) => name !== 'Émile');
    expect(ascii.map((name: string) => name.toLowerCase())).toEqual(['2nd', 'alpha', 'alpha', 'beta', 'beta', 'gamma']);
    for (const one of schedules) {
      expect(one.prompt).toHaveLength(2048);
      expect(one.history.upcoming).toHaveLength(5);
    }
  });

  it('shows one’s own and those of the team; with the header those of that team only', async () => {
    const { both, team, otherTeam } = room;
    const create = async (fields: object, headers = {}): Promise<string> =>
      (await room.askAs(both, 201, `POST ${SCHEDULES}`, { body: valid(fields), headers })).id;
    const mine = await create({ team: false });
    const one = await create({}, inTeam(team));
    const other = await create({}, inTeam(otherTeam));
    const list = async (headers = {}): Promise<string[]> =>
      (await room.askAs(both, 200, `GET ${SCHEDULES}`, { headers })).schedules.map(({ id }: { id: string }) => id);
    expect(await list()).toEqual(expect.arrayContaining([mine, one, other]));
    expect(await list(inTeam(team))).toEqual(expect.arrayContaining([mine, one]));
    expect(await list(inTeam(team))).not.toContain(other);
    await room.askAs(room.member, 403, `GET ${SCHEDULES}`, { headers: inTeam(otherTeam) });
  });
});

describe('updateScheduledAgent', () => {
  it('sets what it names, and what is left out to its default', async () => {
    const made = await room.make({
      timezone: 'Europe/Berlin',
      mode: 'plan',
      metadata: { a: 'b' },
      overlap_policy: 'skip',
      jitter_seconds: 5,
      agent_config: { model_id: 'large' },
    });
    await room.api.advanceClock(1000);
    const body = { name: 'other', cron_schedule: '0 4 * * *', prompt: 'Something else.', enabled: true };
    const changed = await room.askAs(room.admin, 200, `PUT ${at(made.id)}`, { body });
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
    expect(changed.created_by.uid).toBe(room.member.uid);
    expect(changed.updated_by.uid).toBe(room.admin.uid);
    expect(changed.updated_at > made.updated_at).toBe(true);
    expect(await room.ask(200, `GET ${at(made.id)}`)).toEqual(changed);
  });

  it('agent_config: left out it stays, null clears it, and it replaces as a whole', async () => {
    const { id } = await room.make({ agent_config: { model_id: 'large', name: 'one' } });
    const put = (fields: object) => room.ask(200, `PUT ${at(id)}`, valid(fields));
    expect((await put({})).agent_config).toEqual({ model_id: 'large', name: 'one' });
    expect((await put({ agent_config: { name: 'two' } })).agent_config).toEqual({ name: 'two' });
    expect(await put({ agent_config: null })).not.toHaveProperty('agent_config');
    expect(await put({})).not.toHaveProperty('agent_config');
  });

  it('agent_uid: left out it goes, as null does', async () => {
    const { uid } = await room.askAs(room.admin, 201, 'POST /agent/identities', { body: { name: 'bot' } });
    const { id } = await room.make({ agent_uid: uid });
    expect(await room.ask(200, `PUT ${at(id)}`, valid({ agent_uid: uid }))).toMatchObject({ agent_uid: uid });
    expect(await room.ask(200, `PUT ${at(id)}`, valid({ agent_uid: null }))).not.toHaveProperty('agent_uid');
    await room.ask(200, `PUT ${at(id)}`, valid({ agent_uid: uid }));
    expect(await room.ask(200, `PUT ${at(id)}`, valid())).not.toHaveProperty('agent_uid');
  });

  it('takes back what a GET answers, masked values included', async () => {
    const agent_config = {
      mcp_servers: { docs: { url: 'https://d.example.test', headers: { Authorization: 'kept' } } },
    };
    const made = await room.make({ agent_config, metadata: { a: 'b' }, timezone: 'Europe/Berlin' });
    const { updated_at: _then, ...same } = made;
    const { updated_at: _now, ...changed } = await room.ask(200, `PUT ${at(made.id)}`, made);
    expect(changed).toEqual(same);
  });

  it('keeps a reference that is gone by now, and takes no other one', async () => {
    const { uid } = await room.askAs(room.admin, 201, 'POST /environments', { body: { config: { name: 'gone' } } });
    const made = await room.make({ agent_config: { environment_id: uid } });
    await room.askAs(room.admin, 204, `DELETE /environments/${uid}`);
    const body = valid({ agent_config: { environment_id: uid } });
    expect(await room.ask(200, `PUT ${at(made.id)}`, body)).not.toHaveProperty('environment');
    await room.ask(403, `PUT ${at((await room.make()).id)}`, body);
  });

  it('enabled: false pauses it, true resumes it', async () => {
    const { id } = await room.make();
    expect((await room.ask(200, `PUT ${at(id)}`, valid({ enabled: false }))).history.next_run).toBeNull();
    expect((await room.ask(200, `PUT ${at(id)}`, valid({ enabled: true }))).history.next_run).not.toBeNull();
  });
});

describe('pauseScheduledAgent and resumeScheduledAgent', () => {
  it('200: pausing stops due times, resuming brings them back; both may come twice', async () => {
    const { id, history } = await room.make();
    for (let times = 0; times < 2; times += 1) {
      const paused = await room.ask(200, `POST ${at(id, 'pause')}`);
      expect(paused).toMatchObject({ id, enabled: false, paused_reason: null });
      expect(paused.history).toEqual({ last_ran: null, next_run: null, upcoming: [] });
    }
    for (let times = 0; times < 2; times += 1)
      expect(await room.ask(200, `POST ${at(id, 'resume')}`)).toMatchObject({ id, enabled: true, history });
  });

  it('shows why the service has paused it, until it is resumed', async () => {
    const { id } = await room.make();
    await room.ask(200, `POST ${at(id, 'pause')}`);
    await room.api.database.query(
      `UPDATE schedules SET paused_reason = 'It failed.', last_spawn_error = 'No.' WHERE uid = $1`,
      [id],
    );
    expect(await room.ask(200, `GET ${at(id)}`)).toMatchObject({
      paused_reason: 'It failed.',
      last_spawn_error: 'No.',
    });
    expect(await room.ask(200, `POST ${at(id, 'resume')}`)).toMatchObject({ enabled: true, paused_reason: null });
  });
});

describe('runScheduledAgent', () => {
  it('200: a run of it, also while it is paused, with the schedule as it was', async () => {
    const { uid: environment } = await room.askAs(room.admin, 201, 'POST /environments', { body: { config: {} } });
    const made = await room.make({
      name: 'by hand',
      agent_config: { environment_id: environment },
      metadata: { a: 'b' },
    });
    await room.ask(200, `POST ${at(made.id, 'pause')}`);
    const started = await room.askAs(room.bot, 200, `POST ${at(made.id, 'run')}`);
    expect(started).toEqual({ run_id: expect.any(String), task_id: started.run_id, state: 'QUEUED' });
    await room.ask(200, `PUT ${at(made.id)}`, valid({ name: 'renamed', enabled: false }));
    expect(await run(started.run_id)).toMatchObject({
      title: 'by hand',
      prompt: made.prompt,
      source: 'SCHEDULED_AGENT',
      creator: { type: 'service_account', uid: room.bot.uid },
      schedule: { schedule_id: made.id, schedule_name: 'by hand', cron_schedule: made.cron_schedule },
      agent_config: { environment_id: environment },
      metadata: { a: 'b' },
      scope: { type: 'Team', uid: room.team },
    });
    const { runs } = await room.ask(200, `GET /agent/runs?schedule_id=${made.id}`);
    expect(runs.map(({ run_id }: { run_id: string }) => run_id)).toEqual([started.run_id]);
    const { enabled, history } = await room.ask(200, `GET ${at(made.id)}`);
    expect([enabled, history.last_ran, history.next_run]).toEqual([false, null, null]);
  });

  it('of one’s own schedule the run is one’s own, whatever team one is on', async () => {
    const { id } = await room.askAs(room.member, 201, `POST ${SCHEDULES}`, { body: valid({ team: false }) });
    const { run_id } = await room.askAs(room.member, 200, `POST ${at(id, 'run')}`);
    const { scope } = await room.askAs(room.member, 200, `GET /agent/runs/${run_id}`);
    expect(scope).toEqual({ type: 'User', uid: room.member.uid });
  });

  it('403: what it names may not be used any more', async () => {
    const { uid } = await room.askAs(room.admin, 201, 'POST /environments', { body: { config: {} } });
    const { id } = await room.make({ agent_config: { environment_id: uid } });
    await room.askAs(room.admin, 204, `DELETE /environments/${uid}`);
    await room.ask(403, `POST ${at(id, 'run')}`);
  });

  it('400: what it says can start no run any more, in words of the schedule', async () => {
    const { id } = await room.make({ agent_config: { skill_spec: 'nowhere:nothing' } });
    const { errors } = await room.ask(400, `POST ${at(id, 'run')}`);
    expect(errors).toEqual([{ pointer: '/agent_config/skill_spec', detail: expect.any(String) }]);
  });
});

describe('deleteScheduledAgent', () => {
  it('200: it is gone, its runs stay', async () => {
    const { id } = await room.make();
    const { run_id } = await room.ask(200, `POST ${at(id, 'run')}`);
    expect(await room.ask(200, `DELETE ${at(id)}`)).toEqual({ success: true });
    for (const line of [`GET ${at(id)}`, `DELETE ${at(id)}`, `POST ${at(id, 'pause')}`, `POST ${at(id, 'resume')}`])
      await room.ask(404, line);
    await room.ask(404, `POST ${at(id, 'run')}`);
    await room.ask(404, `PUT ${at(id)}`, valid());
    expect(await run(run_id)).toMatchObject({ schedule: { schedule_id: id } });
    expect(await room.api.database.query('SELECT 1 FROM timers WHERE key = $1', [id])).toEqual([]);
  });
});
