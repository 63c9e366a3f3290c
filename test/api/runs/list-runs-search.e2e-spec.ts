import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { CollectRunWords, facetsOf } from '#domain/runs';
import { parseSettings } from '#platform/config';
import { newUuid } from '#platform/kernel';
import { dropDatabase, onDatabase, otherDatabase } from '../../../libs/testing/src/database/test-postgres.js';
import { migrateAll } from '../../../apps/headrace/src/process/migrations.js';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem, requestAnyStatus, sendConcurrently } from '../../support/api-requests.js';
import { createTeam, expectRejectedQuery, type Team } from './runs-of-team.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: { runListTimeout: 1500 } });
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

describe('query parameter q', () => {
  let team: Team;
  let runs: { deploy: string; webhook: string; skill: string };

  beforeAll(async () => {
    team = await createTeam(fixture);
    runs = {
      deploy: await team.buildRun({
        title: 'Deploy the Parser',
        prompt: 'Roll it out, then watch the dashboards for 100% of the traffic.',
      }),
      webhook: await team.buildRun({
        title: 'Hooks',
        prompt: `Answer the webhook in Zürich. ${'x'.repeat(4000)} tail-end`,
      }),
      skill: await team.buildRun({
        title: 'Untitled',
        prompt: 'Go.',
        config: { skill_spec: 'acme/tools:.agents/skills/changelog/SKILL.md' },
      }),
    };
  });

  it.each([
    ['title', 'parser', 'deploy'],
    ['prompt', 'dashboards', 'deploy'],
    ['skill_spec', 'changelog', 'skill'],
    ['upper and lower case', 'WEBHOOK zürich', 'webhook'],
    ['words in any order', 'parser deploy', 'deploy'],
    ['parts of words', 'dash', 'deploy'],
    ['punctuation', '"watch", the: (dashboards)!', 'deploy'],
    ['signs that mean something to LIKE', '100%', 'deploy'],
    ['two letters swapped', 'webohok', 'webhook'],
    ['a letter missing', 'webook', 'webhook'],
    ['a letter too much', 'dashbooards', 'deploy'],
    ['a wrong letter', 'changelag', 'skill'],
    ['a typo beside a good word', 'prser deploy', 'deploy'],
  ] as const)('finds by %s', async (_name, q, expected) => {
    expect(await team.findRuns(`q=${encodeURIComponent(q)}`)).toEqual([runs[expected]]);
  });

  it('finds a run by its whole id, with the other filters', async () => {
    expect(await team.findRuns(`q=${runs.skill}`)).toEqual([runs.skill]);
    expect(await team.findRuns(`q=${runs.skill.toUpperCase()}`)).toEqual([runs.skill]);
    expect(await team.findRuns(`q=${runs.skill}&name=other`)).toEqual([]);
    const foreign = (await fixture.runs.build({ by: fixture.stranger, team: fixture.otherTeam })).id;
    expect(await team.findRuns(`q=${foreign}`)).toEqual([]);
  });

  it.each([
    ['Οδός Ερμού', ['ΟΔΌΣ', 'οδός', 'Οδόσ', 'ΕΡΜΟΎ', 'ερμού οδός', 'ΕΡΜΎΟ']],
    ['ΠΑΡΑΔΟΣΕΙΣ ΚΑΙ ΟΔΟΣ', ['οδος', 'οδοσ', 'ΟΔΟΣ', 'παραδοσεις', 'Παραδόσεις'.replace('ό', 'ο')]],
    ['Die Straße nach Überlingen', ['STRASSE', 'STRAẞE', 'straße', 'strasse', 'ÜBERLINGEN', 'Überlignen']],
    ['GROẞE GRÖSSE', ['große', 'grosse', 'größe']],
    ['İstanbul IŞIK', ['istanbul', 'ISTANBUL', 'İSTANBUL', 'i\u0307stanbul', 'ışık', 'IŞIK', 'Işık', 'İSTNABUL']],
    ['ДОГОВОР № 7', ['договор', 'Договор', 'ДГООВОР']],
  ])('finds %s whatever the case of its letters', async (title, words) => {
    const own = await createTeam(fixture);
    const id = await own.buildRun({ title, prompt: 'Go.' });
    await own.buildRun({ title: 'Other', prompt: 'Stop.' });
    for (const word of words) expect([word, await own.findRuns(`q=${encodeURIComponent(word)}`)]).toEqual([word, [id]]);
  });

  it('requires all words', async () => {
    expect(await team.findRuns('q=deploy+webhook')).toEqual([]);
  });

  it('filters without a change of the sort order', async () => {
    const { body } = await fixture.request(200, 'GET /agent/runs?q=e&sort_by=title&sort_order=asc', {
      token: team.member.token,
    });
    expect(body.runs.map(({ title }: { title: string }) => title)).toEqual(['Deploy the Parser', 'Hooks', 'Untitled']);
  });

  it.each([41, 120, 256])('matches a word of %i letters exactly', async (length) => {
    const own = await createTeam(fixture);
    const word = 'abcdefgh'.repeat(32).slice(0, length);
    const id = await own.buildRun({ title: `Before ${word} after`, prompt: 'Go.' });
    expect(await own.findRuns(`q=${word}`)).toEqual([id]);
    expect(await own.findRuns(`q=${word.slice(1)}${word[0]}`)).toEqual([]);
  });

  it('rejects an empty or too long query with 400', async () => {
    await expectRejectedQuery(fixture, 'q=', '/q', 'must be text with at least one letter or digit');
    await expectRejectedQuery(fixture, 'q=%25_!', '/q', 'must be text with at least one letter or digit');
    await expectRejectedQuery(fixture, `q=${'a'.repeat(257)}`, '/q', 'must not exceed 256 characters');
    await expectRejectedQuery(fixture, 'q=a+b+c+d+e+f+g+h+i', '/q', 'must not exceed 8 different words');
    expect(await team.findRuns('q=a+a+a+a+a+a+a+a+a')).toHaveLength(3);
  });

  it('corrects a misspelling equally on every page, also when the word was added in between', async () => {
    const own = await createTeam(fixture);
    for (let index = 0; index < 2; index += 1) await own.buildRun({ title: 'the dashboard' });
    const query = 'q=dashbaord&limit=1&sort_by=title';
    const { body } = await fixture.request(200, `GET /agent/runs?${query}`, { token: own.member.token });
    await own.buildRun({ title: 'dashbaord' });
    const cursor = encodeURIComponent(body.page_info.next_cursor);
    const { body: next } = await fixture.request(200, `GET /agent/runs?${query}&cursor=${cursor}`, {
      token: own.member.token,
    });
    expect(next.runs.map(({ title }: { title: string }) => title)).toEqual(['the dashboard']);
  });
});

describe('misspelt words of old runs in a team with many newer runs', () => {
  const sql = (text: string, values: unknown[] = []) => fixture.database.query<Record<string, unknown>>(text, values);
  let team: Team;
  let old: string[];

  /** More of them than the newest ones that a search compares with its words first. */
  async function addNewerRuns(): Promise<void> {
    const ids = Array.from({ length: 850 }, () => newUuid());
    await sql(
      `WITH r AS (INSERT INTO runs (id, team_uid, slot_key, pool, state, title, prompt, source, execution_location, mode, interactive,
         creator_type, creator_uid, executor_type, executor_uid, config, queued_at, created_at, updated_at)
       SELECT u.id, $1, 'team:' || $1, 'elsewhere', 'QUEUED', 'Newer ' || md5(u.id::text), 'Go.', 'API', 'REMOTE', 'normal', false,
         'user', $2, 'user', $2, '{}', t.at, t.at, t.at FROM unnest($3::uuid[]) u (id), LATERAL (SELECT headrace.now() AS at) t
       RETURNING *)
       INSERT INTO run_facets (run_id, slot_key, tokens, search) SELECT ${facetsOf('r')} FROM r`,
      [team.uid, team.member.uid, ids],
    );
  }

  /** What the processor does every few minutes, as if all runs were older than that. */
  async function collectWords(): Promise<void> {
    await sql('UPDATE facet_repairs SET upto = $1', [newUuid()]);
    await fixture.api.app.get(CollectRunWords, { strict: false }).run();
  }

  const wordsOf = async (pattern: string) =>
    (
      await sql(`SELECT word, run_ids FROM run_words WHERE slot_key = $1 AND word LIKE $2 ORDER BY word`, [
        `team:${team.uid}`,
        pattern,
      ])
    ).map(({ word, run_ids: ids }) => [word, (ids as string[]).length]);

  const find = async (words: string): Promise<string[]> => team.findRuns(`q=${encodeURIComponent(words)}&limit=20`);

  beforeAll(async () => {
    team = await createTeam(fixture);
    const texts = [
      'Install kubernetes-1',
      'Sensor7b2c3 reports',
      'Überwachung: grafan4',
      'kubernets',
      'Sel\u0301ect',
      `7x7${'y'.repeat(95)}zebra`,
    ];
    old = [];
    for (const title of texts) old.push(await team.buildRun({ title, prompt: 'Go.' }));
    for (let index = 0; index < 20; index += 1) old.push(await team.buildRun({ title: `throttle ${index}` }));
    await addNewerRuns();
  });

  const at = (...places: number[]): string[] => places.map((place) => old[place] ?? '').sort();
  const expectFound = async (): Promise<void> => {
    const throttle = at(...Array.from({ length: 20 }, (_, index) => 6 + index));
    for (const [words, expected] of [
      ['kuberntees', at(0)],
      ['xubernets', at(3)],
      ['kubernetss', at(0, 3)],
      ['kubrenetes isntall', at(0)],
      ['kubrenetes reports', []],
      ['sesnor', at(1)],
      ['grafana', at(2)],
      ['uberwachung', at(2)],
      ['sel\u0301cet', at(4)],
      ['throtle', throttle],
      ['throtlte', throttle],
      ['zebra', at(5)],
      ['zerba', []],
      ['nothingatall', []],
    ] as const)
      expect([words, await find(words)]).toEqual([words, expected]);
  };

  it('are found before their words are collected, and afterwards', async () => {
    await expectFound();
    expect(await wordsOf('%')).toEqual([]);
    await collectWords();
    expect(await wordsOf('%ern%')).toEqual([
      ['kubernetes', 1],
      ['kubernets', 1],
    ]);
    expect(await wordsOf('sensor%')).toEqual([['sensor7b', 1]]);
    expect(await wordsOf('throttle')).toEqual([['throttle', 17]]);
    await expectFound();
    old.push(await team.buildRun({ title: 'kubernetes again' }));
    await addNewerRuns();
    expect(await find('kuberntees')).toEqual(at(0, 26));
    await collectWords();
    expect(await find('kuberntees')).toEqual(at(0, 26));
    expect(await wordsOf('kubernetes')).toEqual([['kubernetes', 2]]);
  });

  it('are not found in other teams, also when the same word was collected there', async () => {
    const other = await createTeam(fixture);
    const id = await other.buildRun({ title: 'the kubernetes of others' });
    await collectWords();
    expect(await other.findRuns('q=kuberntees')).toEqual([id]);
    expect(await find('kuberntees')).not.toContain(id);
  });

  it('have no collected words any more when all runs with them are deleted', async () => {
    await collectWords();
    const known = (await sql(`SELECT unnest(run_ids) AS id FROM run_words WHERE slot_key = $1 AND word = 'throttle'`, [
      `team:${team.uid}`,
    ])) as { id: string }[];
    await sql('DELETE FROM run_facets WHERE run_id = ANY($1)', [[...known.map(({ id }) => id), old[3]]]);
    await collectWords();
    expect(await wordsOf('kubernets')).toEqual([]);
    expect(await wordsOf('kubernetes')).toEqual([['kubernetes', 2]]);
    // The word was frequent, and three runs with it are left.
    expect(await wordsOf('throttle')).toEqual([['throttle', 3]]);
    expect(await find('throtlte')).toHaveLength(3);
  });
});

describe('in a database of locale C', () => {
  it('search text and words contain the letters of all languages', async () => {
    const { url } = inject('postgres');
    const name = `locale_${randomBytes(8).toString('hex')}`;
    const database = new pg.Client({ connectionString: otherDatabase(url, name) });
    await onDatabase(url, (server) =>
      server.query(`CREATE DATABASE ${name} TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'`),
    );
    try {
      await migrateAll(parseSettings({ DATABASE_URL: otherDatabase(url, name) }));
      await database.connect();
      const { rows } = await database.query(`SELECT lower('Ü') AS plain,
        headrace.run_search_text('ΟΔΟΣ Straße', 'ÜBER', NULL) AS text, headrace.search_fold('οδος STRAẞE Über') AS words`);
      expect(rows).toEqual([{ plain: 'Ü', text: 'οδοσ strasse\n\nüber', words: 'οδοσ strasse über' }]);
      await database.query(`INSERT INTO headrace.run_facets (run_id, slot_key, tokens, search)
        VALUES (gen_random_uuid(), 'team:t', '{}', headrace.run_search_text('Договор по-über', '', NULL))`);
      for (const condition of [`LIKE '%говор%'`, `~ '(^|[^[:alnum:]])дого[[:alnum:]]ор'`, `~ '(^|[^[:alnum:]])über'`]) {
        const found = await database.query(`SELECT 1 FROM headrace.run_facets f WHERE f.search ${condition}`);
        expect([condition, found.rowCount]).toEqual([condition, 1]);
      }
    } finally {
      await database.end();
      await onDatabase(url, (server) => dropDatabase(server, name));
    }
  });
});

describe('searches that take too long', () => {
  const search = 'GET /agent/runs?q=anything';

  it('end with 503 and Retry-After after RUN_LIST_TIMEOUT, with advice', async () => {
    const blocker = new pg.Client({ connectionString: fixture.database.url });
    await blocker.connect();
    try {
      await blocker.query('BEGIN; LOCK TABLE headrace.run_facets IN ACCESS EXCLUSIVE MODE');
      const answer = await fixture.request(503, search, { token: fixture.member.token });
      expectProblem(fixture.api, answer, 'resource_unavailable');
      expect(answer.headers.get('retry-after')).toBe('5');
      expect(answer.body.detail).toContain('Narrow it');
    } finally {
      await blocker.end();
    }
  });

  it('use few connections: searches beyond the limit get 503, and lists without search continue', async () => {
    const { token } = fixture.member;
    const answers = await sendConcurrently(
      fixture.api,
      'LOCK TABLE headrace.run_facets IN ACCESS EXCLUSIVE MODE',
      () => [
        ...Array.from({ length: 6 }, () => requestAnyStatus(fixture.api, search, { token })),
        requestAnyStatus(fixture.api, 'GET /agent/runs?limit=1', { token }),
      ],
    );
    const [list] = answers.slice(-1);
    expect(list?.status).toBe(200);
    const statuses = answers.slice(0, 6).map(({ status }) => status);
    // A pool of six: one search at a time, four may wait.
    expect(statuses.sort()).toEqual([200, 200, 200, 200, 200, 503]);
    const refused = answers.find(({ status }) => status === 503);
    expect(refused?.body.detail).toContain('Too many searches');
    expect(refused?.headers.get('retry-after')).toBe('5');
  });
});
