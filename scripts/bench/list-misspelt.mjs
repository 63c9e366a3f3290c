// Part of `npm run bench -- list`: searches for misspelt words, each of which occurs in one of BENCH_TEAM_RUNS runs of one team.
import { Agent } from 'node:http';
import { aim } from './aims.mjs';
import { fillRuns, fillTeams } from './fill-runs.mjs';
import { dist, getText, makeCaller, percentile, withFilledApi } from './support.mjs';

const RUNS = Number(process.env.BENCH_TEAM_RUNS ?? 1_000_000);
const REQUESTS = 20;
const AIM_MS = 300;
/** Runs whose words are collected in one transaction. */
const BATCH = 5000;

/** Words, and misspellings of them. Those from `checkport` on consist of parts of frequent words of the runs. */
const WORDS = [
  ['kubernetes', 'kubernetse'],
  ['grafana', 'grafena'],
  ['vault', 'valut'],
  ['postfix', 'posfix'],
  ['typescript', 'typescrpit'],
  ['checkport', 'chekcport'],
  ['sessiontable', 'sesiontable'],
  ['portion', 'porton'],
  ['alertable', 'aletrable'],
  ['rollport', 'rolport'],
];

/** Returns nothing if no runs are asked for. */
export async function benchMisspelt() {
  if (RUNS === 0) return;
  const times = await withFilledApi(fill, ({ port, filled: token }) => measure(port, token));
  console.log(
    `${RUNS.toLocaleString('en')} runs in one team, misspellings of words of one run: ${times
      .map(({ misspelt, p50 }) => `${misspelt} ${p50.toFixed(0)}`)
      .join(', ')} ms`,
  );
  const all = times.flatMap(({ values }) => values);
  const name = `list: q with a misspelling of a rare word, ${RUNS.toLocaleString('en')} runs in one team`;
  aim(`${name}, median`, percentile(all, 0.5), { atMost: AIM_MS, digits: 0, unit: ' ms' });
  aim(`${name}, p99`, percentile(all, 0.99), { atMost: AIM_MS, digits: 0, unit: ' ms' });
}

async function fill(db) {
  await fillRuns(db, { runs: RUNS, teams: 1, sentences: 4, log: (line) => console.error(`  ${line}`) });
  const owner = `team:${fillTeams[0]}`;
  for (const [index, [word]] of WORDS.entries()) {
    const { rowCount } = await db.query(
      `UPDATE run_facets SET search = search || ' ' || $1 WHERE run_id = (
         SELECT run_id FROM run_facets WHERE slot_key = $2 ORDER BY run_id OFFSET $3 LIMIT 1)
       AND NOT EXISTS (SELECT FROM run_facets WHERE search LIKE '%' || $1 || '%')`,
      [word, owner, Math.floor(((index + 1) * RUNS) / (3 * WORDS.length))],
    );
    if (rowCount !== 1) throw new Error(`The word ${word} is not rare.`);
  }
  await collectWords(db);
  await db.query('VACUUM (ANALYZE) run_facets');
  await db.query('VACUUM (ANALYZE) run_words');
  return makeCaller(db, { team: fillTeams[0], isServiceAccount: true });
}

/** As the task of the processor does, without its limit of time. */
async function collectWords(db) {
  const { RunWordsStore } = await dist('libs/domain/runs/src/persistence/run-words.store.js');
  const words = new RunWordsStore();
  const tx = { query: async (text, values) => (await db.query(text, values)).rows };
  await db.query(
    `UPDATE facet_repairs SET upto = (SELECT run_id FROM run_facets ORDER BY run_id DESC LIMIT 1); SET enable_seqscan = off`,
  );
  const started = performance.now();
  let collected = 0;
  for (let count = BATCH; count === BATCH; collected += count) {
    await db.query('BEGIN');
    count = await words.collect(tx, BATCH);
    await db.query('COMMIT');
  }
  await db.query('RESET enable_seqscan');
  const seconds = (performance.now() - started) / 1000;
  const { rows } = await db.query(
    `SELECT count(*), pg_size_pretty(pg_total_relation_size('run_words')) AS size FROM run_words`,
  );
  console.error(`  words of ${collected} runs: ${rows[0].count}, ${rows[0].size} (${seconds.toFixed(1)} s)`);
}

async function measure(port, token) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const search = (words) => getText(agent, `http://127.0.0.1:${port}/api/v1/agent/runs?limit=20&q=${words}`, token);
  const times = [];
  for (let round = 0; round < REQUESTS; round += 1) await search('deploy');
  for (const [word, misspelt] of WORDS) {
    const values = [];
    for (let round = 0; round < REQUESTS; round += 1) {
      const started = performance.now();
      const { runs } = JSON.parse(await search(misspelt));
      values.push(performance.now() - started);
      if (runs.length !== 1) throw new Error(`${misspelt} has found ${runs.length} runs and not the one with ${word}.`);
    }
    times.push({ misspelt, values, p50: percentile(values, 0.5) });
  }
  agent.destroy();
  return times;
}
