// Fills an empty installation's database with runs as a few busy years leave them: skewed teams, mostly succeeded, many
// skills. The same seed gives the same runs, but for their age: the newest is a moment old.

const TEAMS = 40;
const SKILLS = 200;
const FRAGMENTS = 4000;
const FILLED = ['runs', 'run_facets', 'artifacts'];

const DEVELOPMENT =
  `deploy release rollback migrate refactor rename extract inline parser lexer compiler scheduler worker queue
  webhook endpoint controller service repository database schema index query transaction cursor pagination cache session
  token header cookie login logout password permission role audit invoice payment checkout basket refund customer account
  profile avatar upload download export import report dashboard chart filter search sort table column timezone calendar
  reminder notification email template translation locale currency rounding overflow timeout retry backoff deadlock race
  leak crash panic exception stacktrace logging metrics tracing alert pipeline container image registry cluster replica
  failover backup restore snapshot shard partition throughput latency benchmark flaky snapshot fixture mock coverage lint
  formatter typecheck dependency upgrade vulnerability patch certificate expiry rotation secret encryption checksum`
    .split(/\s+/)
    .filter((word) => word !== '');

const SYLLABLES = 'ba co di fu ga he ji ko lu ma ne po qui ra se ti vu wa xe yo zu bri cla dra fle gro'.split(' ');

/** Real words first, because the first are the frequent ones; then made-up ones, to have as many as a language has. */
function vocabulary(size = 3000) {
  const words = [...new Set(DEVELOPMENT)];
  for (let number = 0; words.length < size; number += 1) {
    const [a, b, c] = [number % 26, Math.floor(number / 26) % 26, Math.floor(number / 676) % 26];
    words.push(
      `${SYLLABLES[(a * 7 + 3) % 26]}${SYLLABLES[(b * 11 + a) % 26]}${SYLLABLES[(c + b) % 26]}${number % 3 === 0 ? 'n' : ''}`,
    );
  }
  return words;
}

/** A fraction of 0 to 1 that depends on the row and on what it decides, and on nothing else. */
const chance = (row, about) => `((hashint8extended(${row}, ${about}) & 9007199254740991)::float8 / 9007199254740992)`;
/** One of `count` by a power law: 0 is the most frequent. */
const skewed = (row, about, count, power) => `floor(${count} * ${chance(row, about)} ^ ${power})::int`;
const padded = (prefix, number) => `'${prefix}' || lpad((${number})::text, ${22 - prefix.length}, '0')`;
const idOf = (row, createdAt) =>
  `(lpad(to_hex(floor(extract(epoch FROM ${createdAt}) * 1000)::bigint), 12, '0') || '7' || substr(md5((${row})::text), 1, 3) || '8' || substr(md5((${row})::text), 4, 15))::uuid`;

export const fillTeams = Array.from({ length: TEAMS }, (_, team) => `fillteam${String(team).padStart(14, '0')}`);
export const fillCreator = (team, person) => `fillperson${String(team * 100 + person).padStart(12, '0')}`;
export const fillSkill = (skill) => `acme/skills-${skill % 7}:.agents/skills/skill-${skill}/SKILL.md`;
export const fillEnvironment = (environment) => `fillenv${String(environment).padStart(15, '0')}`;

/**
 * `db`: a pg client with search path headrace. `sentences`: the most that a prompt has. `teams`: how many there are.
 * Secondary indexes are created again after the rows, which is several times faster.
 */
export async function fillRuns(db, { runs, sentences = 44, teams = TEAMS, log = () => undefined }) {
  const started = Date.now();
  const report = (what) => log(`${what} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  await db.query(
    `SET statement_timeout = 0; SET synchronous_commit = off; SET maintenance_work_mem = '512MB'; SET work_mem = '128MB'`,
  );
  const indexes = await dropIndexes(db);
  await makeWords(db);
  await db.query(RUNS(runs, sentences, teams));
  report(`${runs} runs`);
  await db.query(ARTIFACTS);
  report('artifacts');
  await db.query(`INSERT INTO run_facets (run_id, slot_key, tokens, search) SELECT r.id, r.slot_key,
    headrace.run_tokens(r.slot_key, r.creator_uid, r.executor_uid, r.source, r.execution_location, r.config, r.schedule, r.metadata, r.ancestor_run_ids),
    headrace.run_search_text(r.title, r.prompt, r.config->>'skill_spec')
    FROM runs r WHERE NOT EXISTS (SELECT FROM run_facets f WHERE f.run_id = r.id)`);
  report('facets');
  for (const { indexname, indexdef } of indexes) {
    await db.query(indexdef);
    report(indexname);
  }
  await db.query('DROP TABLE fill_fragments, fill_words');
  for (const table of FILLED) await db.query(`VACUUM (ANALYZE) ${table}`);
  report('analyzed');
  await db.query('RESET ALL');
}

/** All but those that hold a constraint. */
async function dropIndexes(db) {
  const { rows } = await db.query(
    `SELECT indexname, indexdef FROM pg_indexes i WHERE schemaname = 'headrace' AND tablename = ANY($1)
        AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conname = i.indexname) ORDER BY indexname`,
    [FILLED],
  );
  for (const { indexname } of rows) await db.query(`DROP INDEX headrace.${indexname}`);
  return rows;
}

async function makeWords(db) {
  await db.query('CREATE TEMP TABLE fill_words (n int PRIMARY KEY, word text)');
  const words = vocabulary();
  await db.query(
    'INSERT INTO fill_words SELECT ordinality - 1, word FROM unnest($1::text[]) WITH ORDINALITY w (word)',
    [words],
  );
  // Sentences of ten to fourteen words; prompts are made of them.
  await db.query(`CREATE TEMP TABLE fill_fragments AS
    SELECT f AS n, (SELECT string_agg(w.word, ' ' ORDER BY k) FROM generate_series(1, 10 + f % 5) k
      JOIN fill_words w ON w.n = ${skewed('f * 100 + k', 1, words.length, 3)}) || '.' AS text
      FROM generate_series(0, ${FRAGMENTS - 1}) f`);
  await db.query('ALTER TABLE fill_fragments ADD PRIMARY KEY (n); ANALYZE fill_fragments; ANALYZE fill_words');
}

const SOURCES = `CASE WHEN u.source < 0.45 THEN 'API' WHEN u.source < 0.65 THEN 'WEB_APP' WHEN u.source < 0.8 THEN 'SCHEDULED_AGENT'
  WHEN u.source < 0.9 THEN 'CUSTOM_WEBHOOK' WHEN u.source < 0.94 THEN 'SLACK' WHEN u.source < 0.97 THEN 'GITHUB_ACTION'
  WHEN u.source < 0.99 THEN 'CLI' ELSE 'LINEAR' END`;

// The newest few hundred may still be at it.
const STATES = (runs) => `CASE
  WHEN b.i > ${runs} - 60 AND u.state < 0.5 THEN (ARRAY['QUEUED','PENDING','CLAIMED','INPROGRESS','INPROGRESS','BLOCKED'])[1 + (b.i % 6)::int]
  WHEN u.state < 0.86 THEN 'SUCCEEDED' WHEN u.state < 0.93 THEN 'FAILED' WHEN u.state < 0.95 THEN 'ERROR' ELSE 'CANCELLED' END`;

const RUNS = (runs, sentences, teams) => `
INSERT INTO runs (id, team_uid, owner_user_uid, slot_key, pool, state, title, prompt, source, execution_location, mode, interactive,
  creator_type, creator_uid, executor_type, executor_uid, config, metadata, parent_run_id, ancestor_run_ids, schedule,
  status_message, busy_ms, queued_at, created_at, updated_at, started_at)
WITH a AS (SELECT headrace.now() AS at),
b AS (
  SELECT i, at - ((${runs} - i + ${chance('i', 2)}) / ${runs}) * interval '300 days' AS created_at,
         -- Every tenth run has a parent just before it, and some of those have a child in turn.
         CASE WHEN i % 10 = 3 THEN 1 WHEN i % 10 = 4 AND ${chance('i', 3)} < 0.3 THEN 2 ELSE 0 END AS depth
    FROM generate_series(1, ${runs}) i, a
), c AS (
  SELECT b.*, b.i - b.depth AS root FROM b
), u AS (
  SELECT c.i, ${skewed('c.root', 4, teams, 4.2)} AS team, ${chance('c.root', 5)} < 0.03 AS personal,
         CASE WHEN ${chance('c.root', 5)} < 0.03 THEN ${skewed('c.root', 6, 30, 2)} ELSE ${skewed('c.i', 6, 30, 2)} END AS person, ${chance('c.i', 7)} AS source, ${chance('c.i', 8)} AS state,
         CASE WHEN ${chance('c.i', 9)} < 0.6 THEN ${skewed('c.i', 10, SKILLS, 2.5)} END AS skill,
         ${skewed('c.i', 11, 12, 2)} AS model, ${chance('c.i', 12)} AS harness,
         CASE WHEN ${chance('c.i', 13)} < 0.7 THEN ${skewed('c.i', 14, 120, 2)} END AS environment,
         ${chance('c.i', 15)} AS metadata, ${chance('c.i', 16)} AS duration, 1 + floor(${sentences} * ${chance('c.i', 17)} ^ 6)::int AS sentences,
         ${chance('c.i', 18)} < 0.15 AS delegated
    FROM c
)
SELECT ${idOf('b.i', 'b.created_at')},
  CASE WHEN NOT u.personal THEN ${padded('fillteam', 'u.team')} END,
  CASE WHEN u.personal THEN ${padded('fillperson', 'u.team * 100 + u.person')} END,
  CASE WHEN u.personal THEN 'user:' || ${padded('fillperson', 'u.team * 100 + u.person')} ELSE 'team:' || ${padded('fillteam', 'u.team')} END,
  'hosted', s.state,
  initcap((SELECT word FROM fill_words WHERE n = ${skewed('b.i', 20, 60, 1)})) || ' the ' ||
    (SELECT word FROM fill_words WHERE n = ${skewed('b.i', 21, 2900, 2)}) || ' ' ||
    (SELECT word FROM fill_words WHERE n = 40 + ${skewed('b.i', 22, 110, 1)}) || ' (' || 'TASK-' || (b.i % 90000) || ')',
  (SELECT string_agg(f.text, ' ' ORDER BY k) FROM generate_series(1, u.sentences) k JOIN fill_fragments f ON f.n = ${skewed('b.i * 100 + k', 23, FRAGMENTS, 1)}),
  x.source, CASE WHEN x.source IN ('GITHUB_ACTION', 'CLI') THEN 'LOCAL' ELSE 'REMOTE' END, 'normal', false,
  'user', ${padded('fillperson', 'u.team * 100 + u.person')},
  CASE WHEN u.delegated THEN 'service_account' ELSE 'user' END,
  CASE WHEN u.delegated THEN ${padded('fillbot', 'u.team * 10 + u.person % 4')} ELSE ${padded('fillperson', 'u.team * 100 + u.person')} END,
  jsonb_strip_nulls(jsonb_build_object(
    'name', CASE WHEN u.skill IS NOT NULL THEN 'skill-' || u.skill WHEN b.i % 4 = 0 THEN 'nightly' END,
    'model_id', 'model-' || u.model,
    'harness', CASE WHEN u.harness < 0.1 THEN jsonb_build_object('type', 'claude', 'model_id', 'claude-' || (u.model % 3)) END,
    'environment_id', CASE WHEN u.environment IS NOT NULL THEN ${padded('fillenv', 'u.environment')} END,
    'skill_spec', 'acme/skills-' || (u.skill % 7) || ':.agents/skills/skill-' || u.skill || '/SKILL.md')),
  CASE WHEN x.source = 'CUSTOM_WEBHOOK' THEN jsonb_build_object('automation_id', 'automation-' || (b.i % 25), 'area', 'area-' || (b.i % 12))
       WHEN u.metadata < 0.35 THEN jsonb_build_object('area', 'area-' || (b.i % 12), 'ticket', 'T-' || (b.i % 50000)) END,
  CASE WHEN b.depth > 0 THEN p.id END,
  CASE b.depth WHEN 1 THEN ARRAY[p.id] WHEN 2 THEN ARRAY[g.id, p.id] ELSE '{}' END,
  CASE WHEN x.source = 'SCHEDULED_AGENT' THEN jsonb_build_object('schedule_id', 'schedule-' || (u.team * 10 + b.i % 7), 'schedule_name', 'Nightly', 'cron_schedule', '0 3 * * *') END,
  CASE WHEN s.state IN ('FAILED', 'ERROR') THEN '{"message": "The agent ended with an error.", "retryable": false}'::jsonb END,
  (u.duration * 600000)::bigint, b.created_at, b.created_at,
  least(b.created_at + interval '20 seconds' + u.duration ^ 3 * interval '90 minutes' + CASE WHEN b.i % 50 = 0 THEN interval '2 days' ELSE interval '0' END, a.at),
  b.created_at + interval '5 seconds'
FROM a, c b JOIN u ON u.i = b.i
CROSS JOIN LATERAL (SELECT ${SOURCES} AS source) x
CROSS JOIN LATERAL (SELECT ${STATES(runs)} AS state) s
CROSS JOIN LATERAL (SELECT ${idOf('b.i - 1', `(a.at - ((${runs} - (b.i - 1) + ${chance('(b.i - 1)', 2)}) / ${runs}) * interval '300 days')`)} AS id) p
CROSS JOIN LATERAL (SELECT ${idOf('b.i - 2', `(a.at - ((${runs} - (b.i - 2) + ${chance('(b.i - 2)', 2)}) / ${runs}) * interval '300 days')`)} AS id) g`;

// One run in seven has some, of all five types by turns.
const ARTIFACTS = `
INSERT INTO artifacts (uid, run_id, slot_key, source_key, artifact_type, data, object_key, locator, run_created_at, created_at)
SELECT md5(r.id::text || k)::uuid::text, r.id, r.slot_key, 'fill-' || k, t.type,
  CASE t.type WHEN 'EXTERNAL_REFERENCE' THEN jsonb_build_object('reference_type', 'issue', 'url', 'https://issues.example.test/' || md5(r.id::text))
              WHEN 'PULL_REQUEST' THEN jsonb_build_object('url', 'https://code.example.test/pull/' || md5(r.id::text), 'branch', 'fix')
              ELSE jsonb_build_object('artifact_uid', md5(r.id::text || k), 'mime_type', 'text/plain') END,
  CASE WHEN t.type IN ('PLAN', 'SCREENSHOT', 'FILE') THEN 'artifacts/' || md5(r.id::text || k) END,
  CASE WHEN t.type = 'EXTERNAL_REFERENCE' THEN 'https://issues.example.test/' || md5(r.id::text) END,
  r.created_at, r.created_at + interval '10 seconds'
FROM runs r
CROSS JOIN LATERAL (SELECT abs(hashint8extended(hashtextextended(r.id::text, 0), 30)) AS h) d
CROSS JOIN generate_series(1, 1 + (d.h % 5)::int) k
CROSS JOIN LATERAL (SELECT (ARRAY['PLAN','PULL_REQUEST','SCREENSHOT','FILE','EXTERNAL_REFERENCE'])[1 + ((d.h + k) % 5)::int] AS type) t
WHERE d.h % 100 < 15`;
