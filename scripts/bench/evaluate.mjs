// `npm run bench -- evaluate`: how many deliveries a processor evaluates in a second with 1, 10 and 1,000 automations on
// their webhook, beside the same deliveries with none; when nothing matches, and when one of ten does and starts a run. Then the
// same runs are created again without a delivery, which shows what the evaluation costs beside its runs.
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startFiringApp } from '../../test/support/firing-app.mjs';
import { fillWebhooks } from './fill-webhooks.mjs';
import { aim } from './aims.mjs';
import { dist, median } from './support.mjs';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const DELIVERIES = Number(process.env.BENCH_DELIVERIES ?? 500);
const AUTOMATIONS = [1, 10, 1000];
/** As many as a processor evaluates at the same time of one factory. */
const CONCURRENCY = 4;
const SHARE_OF_CREATING = 0.5;
const PROMPT = 'Look at {{ payload.issue.title }}.\n'.padEnd(20_000, 'Think about it well. ');
const BODY = JSON.stringify({
  action: 'opened',
  number: 7,
  issue: { title: 'A flaky test', labels: ['bug'], body: 'x'.repeat(900) },
});

export async function benchEvaluate() {
  const { EmbeddedPostgres } = await dist('libs/platform/embedded-postgres/src/index.js');
  const { parseSettings } = await dist('libs/platform/config/src/index.js');
  const { newUid } = await dist('libs/platform/kernel/src/index.js');
  const { SecretBox } = await dist('libs/platform/secrets/src/index.js');
  const { migrateAll } = await dist('apps/headrace/src/process/migrations.js');
  const dataDir = mkdtempSync(join(tmpdir(), 'headrace-bench-'));
  chmodSync(dataDir, 0o711);
  const postgres = await EmbeddedPostgres.start({ dataDir, log: () => undefined });
  const db = new pg.Client({ connectionString: postgres.url, options: '-c search_path=headrace' });
  let app = null;
  try {
    const env = {
      DATABASE_URL: postgres.url,
      HEADRACE_DATA_DIR: join(dataDir, 'data'),
      SECRETS_KEY: randomBytes(24).toString('hex'),
      LOG_LEVEL: 'warn',
    };
    await migrateAll(parseSettings(env));
    await db.connect();
    const webhooks = await fillWebhooks(db, new SecretBox(parseSettings(env)), 2 * AUTOMATIONS.length + 1);
    const [none, ...others] = webhooks;
    const cases = [{ name: 'no automation', webhook: none, deliveries: DELIVERIES }];
    for (const [index, count] of AUTOMATIONS.entries()) {
      const [silent, started] = [others[2 * index], others[2 * index + 1]];
      await fillAutomations(db, newUid, silent, count, 0);
      const matching = Math.ceil(count / 10);
      await fillAutomations(db, newUid, started, count, matching);
      cases.push({ name: `${count} automations, none matches`, webhook: silent, deliveries: DELIVERIES });
      const deliveries = Math.max(3, Math.floor(DELIVERIES / matching / 5));
      cases.push({ name: `${count} automations, ${matching} start a run`, webhook: started, deliveries, matching });
    }
    await db.query('ANALYZE');
    app = await startFiringApp(env);
    const createAgain = app.rememberRuns();
    const seen = new Map(cases.map(({ name }) => [name, []]));
    const shares = new Map(cases.filter(({ matching }) => matching > 0).map(({ name }) => [name, []]));
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const one of round % 2 ? cases : [...cases].reverse()) {
        await fillDeliveries(db, one.webhook, one.deliveries);
        const began = performance.now();
        const evaluated = await app.evaluateAll();
        const seconds = (performance.now() - began) / 1000;
        if (evaluated !== one.deliveries) throw new Error(`${evaluated} deliveries were evaluated.`);
        const creating = performance.now();
        const created = await createAgain(CONCURRENCY);
        const share = (performance.now() - creating) / 1000 / seconds;
        if (created !== one.deliveries * (one.matching ?? 0)) throw new Error(`${created} runs were started.`);
        // The first round is for warming up.
        if (round === 0) continue;
        seen.get(one.name).push(one.deliveries / seconds);
        shares.get(one.name)?.push(share);
      }
    }
    const floor = median(seen.get('no automation'));
    console.log(`${ROUNDS} rounds, prompts of ${PROMPT.length} bytes, payloads of ${BODY.length} bytes`);
    for (const { name, matching = 0 } of cases) {
      const rate = median(seen.get(name));
      const share = matching > 0 ? median(shares.get(name)) : null;
      const runs =
        share === null ? '' : `, ${(rate * matching).toFixed(0)} runs/s, ${share.toFixed(2)} of creating the same runs`;
      if (share !== null)
        aim(`evaluate: share of creating the same runs, ${name}`, share, { atLeast: SHARE_OF_CREATING });
      console.log(
        `${name.padEnd(36)} ${rate.toFixed(1).padStart(8)} deliveries/s, ${(1000 / rate).toFixed(1).padStart(7)} ms each, ${(rate / floor).toFixed(3)} of the floor${runs}`,
      );
    }
    return seen;
  } finally {
    await app?.close();
    await db.end();
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Automations of which `matching` fire for {@link BODY}; the others are of the sort that fails late. */
async function fillAutomations(db, newUid, webhook, count, matching) {
  const { rows } = await db.query('SELECT factory_uid, team_uid FROM webhooks WHERE uid = $1', [webhook.uid]);
  const [{ factory_uid: factoryUid, team_uid: teamUid }] = rows;
  const uids = Array.from({ length: count }, newUid);
  await db.query(
    `INSERT INTO automations (uid, factory_uid, team_uid, name, enabled, prompt, source, author_type, author_uid)
     SELECT uid, $2, $3, 'automation', true, $4, 'api', 'user', $5 FROM unnest($1::text[]) AS uid`,
    [uids, factoryUid, teamUid, PROMPT, newUid()],
  );
  const triggers = uids.map((uid, index) => ({
    uid,
    trigger: {
      provider: 'webhook',
      event: 'received',
      filter: {
        webhook_ids: [webhook.uid],
        payload: {
          action: ['opened', 'reopened'],
          number: { not_in: [1, 2, 3] },
          issue: {
            labels: [
              index % Math.max(1, Math.floor(count / Math.max(1, matching))) === 0 && matching > 0
                ? 'bug'
                : `label ${index}`,
            ],
          },
        },
      },
    },
  }));
  await db.query(
    `INSERT INTO automation_triggers (automation_id, position, factory_uid, provider, event, subject, trigger)
     SELECT a.id, 0, a.factory_uid, 'webhook', 'received', $2, t.trigger
       FROM jsonb_to_recordset($1::jsonb) AS t (uid text, trigger jsonb) JOIN automations a ON a.uid = t.uid`,
    [JSON.stringify(triggers), webhook.uid],
  );
}

async function fillDeliveries(db, webhook, count) {
  await db.query(
    `INSERT INTO webhook_deliveries (webhook_id, id, outcome, identity_kind, identity, occurrences, size_bytes, received_at,
       source_ip, body, evaluate_at)
     SELECT w.id, gen_random_uuid(), 'A', 'body_hash', n::text, 1, octet_length($2::bytea), now(), '203.0.113.7', $2, now()
       FROM webhooks w, generate_series(1, $3) AS n WHERE w.uid = $1`,
    [webhook.uid, Buffer.from(BODY), count],
  );
}
