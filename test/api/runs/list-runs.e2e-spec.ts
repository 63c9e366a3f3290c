import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RUN_STATES } from '#execution/executions';
import type { TestPrincipal } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem, statementsDuring } from '../../support/api-requests.js';
import { isLong } from '../../support/long-tests.js';

const SORTS = ['updated_at', 'created_at', 'title', 'agent'] as const;
type Sort = (typeof SORTS)[number];
const ORDERS = ['asc', 'desc'] as const;

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

interface Listed {
  run_id: string;
  prompt: string;
  state: string;
}

const list = async (who: TestPrincipal, query = '', headers: Record<string, string> = {}) =>
  (await fixture.request(200, `GET /agent/runs?${query}`, { token: who.token, headers })).body as {
    runs: Listed[];
    page_info: { has_next_page: boolean; next_cursor?: string };
  };
const idsOf = ({ runs }: { runs: Listed[] }): string[] => runs.map(({ run_id }) => run_id);

/** All pages one after the other; `between` is called after each. */
async function walk(
  who: TestPrincipal,
  query: string,
  between: (page: number) => Promise<unknown> = () => Promise.resolve(),
): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor = '', page = 1; ; page += 1) {
    const { runs, page_info } = await list(who, query + cursor);
    ids.push(...runs.map(({ run_id }) => run_id));
    if (!page_info.has_next_page) {
      expect(page_info).toEqual({ has_next_page: false });
      return ids;
    }
    await between(page);
    cursor = `&cursor=${encodeURIComponent(page_info.next_cursor ?? '')}`;
  }
}

/** A separate team with one member, so that tests do not see each other's runs. */
async function newTeam(): Promise<{ team: string; who: TestPrincipal }> {
  const team = await fixture.api.identities.team();
  return { team, who: await fixture.api.identities.user({ [team]: 'member' }) };
}

describe('walking the pages', () => {
  const seconds = (second: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
  const rows: { id: string; updated_at: number; created_at: number; title: string; agent: string | null }[] = [];
  let who: TestPrincipal;

  beforeAll(async () => {
    const fresh = await newTeam();
    who = fresh.who;
    for (let index = 0; index < 23; index += 1) {
      // Few values for many runs: ties everywhere, also across pages, and also between the team's runs and one's own.
      const [created, updated] = [(index * 7) % 4, 10 + ((index * 5) % 3)];
      const title = `title ${(index * 11) % 5}`;
      const agent = index % 3 === 0 ? null : `acme/app:skill-${index % 4}`;
      const { id } = await fixture.runs.build({
        by: who,
        ...(index % 4 === 3 ? {} : { team: fresh.team }),
        title,
        createdAt: seconds(created),
        updatedAt: seconds(updated),
        config: agent === null ? {} : { skill_spec: agent },
        state: index % 2 === 0 ? 'QUEUED' : 'SUCCEEDED',
      });
      rows.push({ id, created_at: created, updated_at: updated, title, agent });
    }
  });

  /** By value, then id, both in the asked order; runs without a skill come last in either. */
  function expected(sort: Sort, order: 'asc' | 'desc'): string[] {
    const sign = order === 'asc' ? 1 : -1;
    const compare = <T extends string | number>(a: T, b: T): number => (a === b ? 0 : a < b ? -sign : sign);
    return [...rows]
      .sort((a, b) => {
        const [left, right] = [a[sort], b[sort]];
        if (left === null || right === null) return left === right ? compare(a.id, b.id) : left === null ? 1 : -1;
        return compare(left, right) || compare(a.id, b.id);
      })
      .map(({ id }) => id);
  }

  it.each(SORTS.flatMap((sort) => ORDERS.map((order) => [sort, order] as const)))(
    'by %s, %s returns every run once, in order, with pages of any size',
    async (sort, order) => {
      const query = `sort_by=${sort}&sort_order=${order}`;
      expect(await walk(who, `${query}&limit=4`)).toEqual(expected(sort, order));
      expect(await walk(who, `${query}&limit=1&state=QUEUED`)).toHaveLength(12);
      expect(idsOf(await list(who, `${query}&limit=500`))).toEqual(expected(sort, order));
    },
  );

  it('by default returns the latest update first, twenty per page', async () => {
    const page = await list(who);
    expect(idsOf(page)).toEqual(expected('updated_at', 'desc').slice(0, 20));
    expect(page.page_info).toEqual({ has_next_page: true, next_cursor: expect.any(String) });
  });

  it('accepts another page size with a cursor', async () => {
    const first = await list(who, 'limit=3');
    const rest = await list(who, `limit=100&cursor=${encodeURIComponent(first.page_info.next_cursor ?? '')}`);
    expect([...idsOf(first), ...idsOf(rest)]).toEqual(expected('updated_at', 'desc'));
  });

  it('returns no cursor with a page that ends with the last run', async () => {
    expect((await list(who, 'limit=23')).page_info).toEqual({ has_next_page: false });
    expect((await list(who, 'limit=22')).page_info.has_next_page).toBe(true);
  });
});

describe('large runs', () => {
  const MAX_PAGE_BYTES = 8 * 1024 * 1024;
  const pages = async (who: TestPrincipal, query: string): Promise<string[][]> => {
    const found: string[][] = [];
    for (let cursor = ''; ;) {
      const { runs, page_info } = await list(who, `${query}${cursor}`);
      found.push(runs.map(({ run_id }) => run_id));
      if (!page_info.has_next_page) return found;
      cursor = `&cursor=${encodeURIComponent(page_info.next_cursor ?? '')}`;
    }
  };
  /** Oldest first, with configurations of so many bytes. */
  async function build(sizes: readonly number[], prompt = 'Go.') {
    const { team, who } = await newTeam();
    const ids: string[] = [];
    for (const [index, size] of sizes.entries()) {
      const config = { base_prompt: 'x'.repeat(size - '{"base_prompt": ""}'.length) };
      const createdAt = new Date(Date.UTC(2026, 0, 1, 0, 0, index));
      ids.push((await fixture.runs.build({ by: who, team, config, prompt, createdAt })).id);
    }
    return { who, ids };
  }

  const FILTERS = ['', '&q=heavy', '&created_after=2020-01-01T00:00:00Z&creator=self'];
  let heavy: ReturnType<typeof build> | undefined;
  it.each(isLong ? FILTERS : FILTERS.slice(-1))(
    'end a page early, and the next page continues after them (%s)',
    async (filter) => {
      const { who, ids } = await (heavy ??= build(
        Array.from({ length: 10 }, () => 2_000_000),
        'heavy',
      ));
      const query = `sort_by=created_at&sort_order=asc${filter.replace('self', who.uid)}`;
      const expected = [ids.slice(0, 4), ids.slice(4, 8), ids.slice(8)];
      expect(await pages(who, `${query}&limit=100`)).toEqual(expected);
      expect(await pages(who, `${query}&limit=8`)).toEqual(expected);
      expect((await pages(who, `${query}&limit=3`)).map(({ length }) => length)).toEqual([3, 3, 3, 1]);
    },
  );

  it('fill a page up to its size limit, and a larger run is alone in its page', async () => {
    const half = MAX_PAGE_BYTES / 2 - 'Go.'.length;
    const { who, ids } = await build([half, half, MAX_PAGE_BYTES * 1.5, 100, half, half, 1000]);
    const [a, b, whole, small, c, d, last] = ids;
    expect(await pages(who, 'sort_by=created_at&sort_order=asc')).toEqual([[a, b], [whole], [small, c], [d, last]]);
  });

  it('count with their artifacts and prompts towards the size of a page', async () => {
    const { who, ids } = await build([4_000_000, 4_000_000, 100], 'p'.repeat(100_000));
    expect((await pages(who, 'sort_by=created_at&sort_order=asc')).length).toBe(1);
    await fixture.database.query(
      `INSERT INTO artifacts (uid, run_id, slot_key, source_key, artifact_type, data, run_created_at, created_at)
       SELECT r.id || n::text, r.id, r.slot_key, n::text, 'PULL_REQUEST', jsonb_build_object('url', repeat('u', 20000), 'branch', 'b'),
              r.created_at, r.created_at FROM runs r, generate_series(1, 25) n WHERE r.id = $1`,
      [ids[1]],
    );
    expect(await pages(who, 'sort_by=created_at&sort_order=asc')).toEqual([[ids[0]], [ids[1], ids[2]]]);
  });
});

describe('while runs are created and updated', () => {
  it.each(['sort_by=created_at&sort_order=desc', 'sort_by=created_at&sort_order=asc', 'sort_by=title&sort_order=asc'])(
    'walking by %s returns no run twice and omits none',
    async (query) => {
      const { team, who } = await newTeam();
      const built: string[] = [];
      for (let index = 0; index < 9; index += 1)
        built.push((await fixture.runs.build({ by: who, team, title: `run ${index}` })).id);
      const seen = await walk(who, `${query}&limit=2`, async (page) => {
        const changed = built[page * 2 - 1];
        if (changed === undefined) return;
        await fixture.request(200, `POST /agent/runs/${changed}/cancel`, { token: who.token });
        await fixture.request(200, 'POST /agent/runs', { token: who.token, body: { prompt: 'Another one.' } });
      });
      expect(seen.filter((id, index) => seen.indexOf(id) !== index)).toEqual([]);
      expect(built.filter((id) => !seen.includes(id))).toEqual([]);
    },
  );

  it('walking by last update returns each unchanged run once', async () => {
    const { team, who } = await newTeam();
    const built: string[] = [];
    for (let index = 0; index < 8; index += 1) built.push((await fixture.runs.build({ by: who, team })).id);
    const [changed = ''] = built;
    const seen = await walk(who, 'limit=3', (page) =>
      page === 1 ? fixture.request(200, `POST /agent/runs/${changed}/cancel`, { token: who.token }) : Promise.resolve(),
    );
    expect(seen.filter((id) => id !== changed).sort()).toEqual(built.slice(1).sort());
  });
});

describe('the state filter', () => {
  it('selects one state, or any of several', async () => {
    const { team, who } = await newTeam();
    const byState = new Map<string, string>();
    for (const state of RUN_STATES) byState.set(state, (await fixture.runs.build({ by: who, team, state })).id);
    for (const state of RUN_STATES) expect(idsOf(await list(who, `state=${state}`))).toEqual([byState.get(state)]);
    const several = await list(who, 'state=QUEUED&state=FAILED&state=ERROR&state=QUEUED');
    expect(idsOf(several).sort()).toEqual([byState.get('QUEUED'), byState.get('FAILED'), byState.get('ERROR')].sort());
    expect(idsOf(await list(who, RUN_STATES.map((state) => `state=${state}`).join('&')))).toHaveLength(9);
  });

  it('accepts a cursor with the states in another order', async () => {
    const { team, who } = await newTeam();
    for (const state of ['QUEUED', 'FAILED', 'FAILED'] as const) await fixture.runs.build({ by: who, team, state });
    const first = await list(who, 'limit=2&state=QUEUED&state=FAILED');
    const second = await list(
      who,
      `limit=2&state=FAILED&state=QUEUED&cursor=${encodeURIComponent(first.page_info.next_cursor ?? '')}`,
    );
    expect(new Set([...idsOf(first), ...idsOf(second)]).size).toBe(3);
  });
});

describe('cursors', () => {
  const NOT_ONE = [{ pointer: '/cursor', detail: 'is not a cursor of a list with this sort and these filters' }];
  let cursor: string;

  beforeAll(async () => {
    for (let index = 0; index < 3; index += 1) await fixture.runs.build({ by: fixture.member, team: fixture.team });
    const { page_info } = await list(fixture.member, 'limit=1&sort_by=created_at&sort_order=desc&state=QUEUED');
    cursor = encodeURIComponent(page_info.next_cursor ?? '');
  });

  it.each([
    ['another sort', 'sort_by=updated_at&sort_order=desc&state=QUEUED'],
    ['another order', 'sort_by=created_at&sort_order=asc&state=QUEUED'],
    ['other states', 'sort_by=created_at&sort_order=desc&state=QUEUED&state=FAILED'],
    ['no states', 'sort_by=created_at&sort_order=desc'],
  ])('with %s are rejected with 400', async (_name, query) => {
    expectProblem(
      fixture.api,
      await fixture.request(400, `GET /agent/runs?${query}&cursor=${cursor}`, { token: fixture.member.token }),
      'invalid_request',
      NOT_ONE,
    );
  });

  it('of another caller are rejected with 400', async () => {
    const query = `sort_by=created_at&sort_order=desc&state=QUEUED&cursor=${cursor}`;
    await list(fixture.member, query);
    for (const { token } of [fixture.viewer, fixture.stranger]) {
      expectProblem(
        fixture.api,
        await fixture.request(400, `GET /agent/runs?${query}`, { token }),
        'invalid_request',
        NOT_ONE,
      );
    }
  });

  it.each(['nonsense', 'a.b', 'a.b.c', '..', 'WyJhIl0.AAAAAAAAAAAAAAAAAAAAAA', 'x'.repeat(4096), '%F0%9F%98%80'])(
    '%s: 400',
    async (forged) => {
      expectProblem(
        fixture.api,
        await fixture.request(400, `GET /agent/runs?cursor=${forged}`, { token: fixture.member.token }),
        'invalid_request',
        NOT_ONE,
      );
    },
  );

  it('with one changed character are rejected with 400', async () => {
    const { page_info } = await list(fixture.member, 'limit=1');
    const whole = page_info.next_cursor ?? '';
    const changed = whole.replace(/^./, (first) => (first === 'W' ? 'X' : 'W'));
    expectProblem(
      fixture.api,
      await fixture.request(400, `GET /agent/runs?cursor=${changed}`, { token: fixture.member.token }),
      'invalid_request',
      NOT_ONE,
    );
  });
});

describe('invalid parameters', () => {
  const LIMIT = 'must be an integer between 1 and 500';
  it.each([
    ['limit=0', '/limit', LIMIT],
    ['limit=501', '/limit', LIMIT],
    ['limit=-1', '/limit', LIMIT],
    ['limit=1.5', '/limit', LIMIT],
    ['limit=1e2', '/limit', LIMIT],
    ['limit=ten', '/limit', LIMIT],
    ['limit=', '/limit', LIMIT],
    ['limit=1&limit=2', '/limit', LIMIT],
    ['limit[gt]=1', '/limit', LIMIT],
    ['sort_by=state', '/sort_by', 'must be one of updated_at, created_at, title, agent'],
    ['sort_by=CREATED_AT', '/sort_by', 'must be one of updated_at, created_at, title, agent'],
    ['sort_order=up', '/sort_order', 'must be one of asc, desc'],
    ['state=DONE', '/state/0', `must be one of ${RUN_STATES.join(', ')}`],
    ['state=QUEUED&state=queued', '/state/1', `must be one of ${RUN_STATES.join(', ')}`],
    ['state=', '/state/0', `must be one of ${RUN_STATES.join(', ')}`],
    ['cursor=', '/cursor', 'must not be blank'],
    ['cursor=%00', '/cursor', 'must not contain NUL characters or lone surrogates'],
    [`cursor=${'x'.repeat(4097)}`, '/cursor', 'must not exceed 4096 characters'],
    ['colour=red', '/colour', 'is not a known field'],
    ['constructor=1', '/constructor', 'is not a known field'],
  ])('%s is rejected with 400 and its name', async (query, pointer, detail) => {
    const answer = await fixture.request(400, `GET /agent/runs?${query}`, { token: fixture.member.token });
    expectProblem(fixture.api, answer, 'invalid_request', [{ pointer, detail }]);
    expect(answer.body.detail).toContain('Query parameter');
  });

  it('limit 500 is accepted', async () => {
    await list(fixture.member, 'limit=500');
  });
});

describe('authorization', () => {
  it('lists the runs of the caller and of the caller’s teams', async () => {
    const { identities } = fixture.api;
    const [red, blue] = [await identities.team(), await identities.team()];
    const member = await identities.user({ [red]: 'member' });
    const viewer = await identities.user({ [red]: 'viewer' });
    const both = await identities.user({ [red]: 'member', [blue]: 'viewer' });
    const bot = await identities.serviceAccount(red);
    const loner = await identities.user();
    const ofRed = (await fixture.runs.build({ by: member, team: red })).id;
    const ofBlue = (await fixture.runs.build({ by: both, team: blue })).id;
    const own = {
      member: (await fixture.runs.build({ by: member })).id,
      both: (await fixture.runs.build({ by: both })).id,
      loner: (await fixture.runs.build({ by: loner })).id,
    };
    const seen = async (who: TestPrincipal, headers: Record<string, string> = {}) =>
      new Set(idsOf(await list(who, '', headers)));
    expect(await seen(member)).toEqual(new Set([ofRed, own.member]));
    expect(await seen(viewer)).toEqual(new Set([ofRed]));
    expect(await seen(bot)).toEqual(new Set([ofRed]));
    expect(await seen(both)).toEqual(new Set([ofRed, ofBlue, own.both]));
    expect(await seen(both, { 'X-Headrace-Team-Uid': blue })).toEqual(new Set([ofBlue, own.both]));
    expect(await seen(loner)).toEqual(new Set([own.loner]));
    const foreign = await fixture.request(403, 'GET /agent/runs', {
      token: member.token,
      headers: { 'X-Headrace-Team-Uid': blue },
    });
    expectProblem(fixture.api, foreign, 'not_authorized');
  });

  it('returns an empty page without runs', async () => {
    const { who } = await newTeam();
    expect(await list(who)).toEqual({ runs: [], page_info: { has_next_page: false } });
  });
});

describe('an item', () => {
  it('is equal to the response of getRun, except for prompts of at most 2,048 characters', async () => {
    const { who } = await newTeam();
    const prompt = '😀'.repeat(2047) + 'xyz';
    const { body } = await fixture.request(200, 'POST /agent/runs', {
      token: who.token,
      body: { prompt, title: 'long', metadata: { a: 'b' } },
    });
    const { body: whole } = await fixture.request(200, `GET /agent/runs/${body.run_id}`, { token: who.token });
    expect(whole.prompt).toBe(prompt);
    const cut = '😀'.repeat(2047) + 'x';
    expect((await list(who)).runs).toEqual([{ ...whole, prompt: cut, submitted_prompt: cut }]);
  });

  it('needs no separate query: a page takes two round trips at most', async () => {
    const { team, who } = await newTeam();
    for (let index = 0; index < 5; index += 1) {
      const colleague = await fixture.api.identities.user({ [team]: 'member' });
      await fixture.runs.build({ by: colleague, team, state: 'INPROGRESS' });
    }
    const statements = await statementsDuring(fixture.api, () => list(who));
    expect(statements).toHaveLength(2);
    expect(await statementsDuring(fixture.api, () => list(who))).toHaveLength(1);
  });
});
