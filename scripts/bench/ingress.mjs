// `npm run bench -- ingress`: accepted deliveries beside a bare node:http server that INSERTs the same row, on one
// PostgreSQL, in one run; then what rejections cost those who deliver, and how much the numbers of webhooks and of stored
// deliveries matter. BENCH_SCHEMES=1 adds what verifying costs with each signature scheme.
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { aim } from './aims.mjs';
import { fillDeliveries, fillWebhooks } from './fill-webhooks.mjs';
import { benchSchemes } from './schemes.mjs';
import { dist, freePort, inTurns, median, percentile, root, start, stop } from './support.mjs';

const POOL = 16;
const SECONDS = Number(process.env.BENCH_SECONDS ?? 2);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const WEBHOOKS = Number(process.env.BENCH_WEBHOOKS ?? 1000);
const MANY_WEBHOOKS = Number(process.env.BENCH_MANY_WEBHOOKS ?? 100_000);
const MANY_DELIVERIES = Number(process.env.BENCH_DELIVERIES ?? 1_000_000);
const CONNECTIONS = [1, 10, 50];
/** Rejections for each accepted delivery, and how many of them may be under way. */
const TIMES = 10;
const STRANGERS = 500;
/** Strangers have a separate address, as a proxy reports it. */
const STRANGER = '192.0.2.1';
const FILLER = 'x'.repeat(900);

/** A signed request as GitHub sends it, with a separate body and id. */
function githubDelivery({ uid, secret }, signs = true) {
  const id = randomBytes(12).toString('hex');
  const body = JSON.stringify({ action: 'opened', number: 7, id, issue: { title: 'A flaky test', body: FILLER } });
  return {
    path: `/webhooks/w/${uid}`,
    body,
    headers: {
      'Content-Type': 'application/json',
      'User-Agent': 'bench',
      'X-GitHub-Event': 'issues',
      'X-GitHub-Delivery': id,
      'X-Hub-Signature-256': `sha256=${createHmac('sha256', signs ? secret : 'wrong')
        .update(body)
        .digest('hex')}`,
    },
  };
}

function send(port, agent, { path, body, headers }) {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        port,
        host: '127.0.0.1',
        agent,
        method: 'POST',
        path,
        headers: { ...headers, 'Content-Length': Buffer.byteLength(body) },
      },
      (response) => {
        response.on('error', reject);
        response.resume();
        response.on('end', () => resolve(response.statusCode));
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Closed loop: every connection sends its next delivery when it has its answer. Returns rate, latencies and statuses. */
async function load(port, connections, next, { seconds = SECONDS, until = Infinity } = {}) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const waits = [];
  const statuses = {};
  const end = performance.now() + seconds * 1000;
  const connection = async () => {
    while (performance.now() < end && waits.length < until) {
      const delivery = next();
      const began = performance.now();
      const status = await send(port, agent, delivery);
      waits.push(performance.now() - began);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: connections }, connection));
  agent.destroy();
  return {
    rate: (waits.length * 1000) / (performance.now() - began),
    p99: percentile(waits, 0.99),
    p50: median(waits),
    statuses,
  };
}

const only = (result, status) => {
  if (Object.keys(result.statuses).join() !== String(status))
    throw new Error(`Answered ${JSON.stringify(result.statuses)}.`);
  return result;
};
const pick = (webhooks) => webhooks[Math.floor(Math.random() * webhooks.length)];

export async function benchIngress() {
  const { EmbeddedPostgres } = await dist('libs/platform/embedded-postgres/src/index.js');
  const { parseSettings } = await dist('libs/platform/config/src/index.js');
  const { SecretBox } = await dist('libs/platform/secrets/src/index.js');
  const { migrateAll } = await dist('apps/headrace/src/process/migrations.js');
  const dataDir = mkdtempSync(join(tmpdir(), 'headrace-bench-'));
  chmodSync(dataDir, 0o711);
  const postgres = await EmbeddedPostgres.start({ dataDir, log: () => undefined });
  const db = new pg.Client({ connectionString: postgres.url, options: '-c search_path=headrace' });
  const children = [];
  try {
    await migrateAll(parseSettings({ DATABASE_URL: postgres.url }));
    await db.connect();
    const secretsKey = randomBytes(24).toString('hex');
    const box = new SecretBox(parseSettings({ SECRETS_KEY: secretsKey }));
    const webhooks = await fillWebhooks(db, box, 10);
    const port = await freePort();
    const main = join(root, 'dist/headrace.cjs');
    const env = {
      DATABASE_URL: postgres.url,
      HEADRACE_DATA_DIR: join(dataDir, 'data'),
      SECRETS_KEY: secretsKey,
      INGRESS_PORT: String(port),
      DATABASE_POOL_SIZE: String(POOL),
      LOG_LEVEL: 'warn',
      NODE_ENV: 'production',
      // The rate is looked at and written as ever; its window passes at once, so that few webhooks take many deliveries.
      WEBHOOK_RATE_WINDOW: '1ms',
      WEBHOOK_RATE_LIMIT: '60',
      TRUSTED_PROXIES: '127.0.0.1',
    };
    const ingress = await start([main, 'ingress'], env, /ingress is ready/);
    children.push(ingress.child);
    await db.query(
      `CREATE TABLE bench_floor (LIKE webhook_deliveries INCLUDING DEFAULTS INCLUDING STORAGE, PRIMARY KEY (webhook_id, id))`,
    );
    const floor = await start(
      [join(root, 'scripts/bench/ingress-floor.mjs')],
      { BENCH_FLOOR: JSON.stringify({ databaseUrl: postgres.url, poolSize: POOL }) },
      /listening (\d+)/,
    );
    children.push(floor.child);
    const ports = { headrace: port, floor: Number(floor.match[1]) };
    const accept = async (side, connections, among) =>
      only(await load(ports[side], connections, () => githubDelivery(pick(among))), 202);

    console.log('10 webhooks:');
    await accept('headrace', 10, webhooks);
    const few = await accept('headrace', 10, webhooks);
    console.log(
      `  ${few.rate.toFixed(0)} deliveries/s, p50 ${few.p50.toFixed(1)}, p99 ${few.p99.toFixed(1)} ms (10 connections)`,
    );

    webhooks.push(...(await fillWebhooks(db, box, WEBHOOKS - 10)));
    const summary = {};
    let deliveryMicros = 0;
    for (const connections of CONNECTIONS) {
      const load = (side) => () => accept(side, connections, webhooks);
      const seen = await inTurns({ floor: load('floor'), headrace: load('headrace') }, ROUNDS);
      const ratios = seen.headrace.map(({ rate }, index) => rate / seen.floor[index].rate);
      summary[connections] = median(ratios);
      aim(`ingress: share of the floor, ${connections} connections`, summary[connections], { atLeast: 0.7 });
      if (connections === 10) deliveryMicros = 1e6 / median(seen.headrace.map(({ rate }) => rate));
      for (const side of ['floor', 'headrace'])
        console.log(
          `${String(connections).padStart(3)} connections, ${side.padEnd(8)} ${median(seen[side].map(({ rate }) => rate)).toFixed(0)} deliveries/s, p50 ${median(seen[side].map(({ p50 }) => p50)).toFixed(1)}, p99 ${median(seen[side].map(({ p99 }) => p99)).toFixed(1)} ms`,
        );
      console.log(
        `                 ratio    ${median(ratios).toFixed(2)} of the floor (from ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}; ${ratios.length} pairs of ${SECONDS} s, ${webhooks.length} webhooks)`,
      );
    }

    console.log('Rejections:');
    await benchRejections(port, webhooks, ['404', '413', '401, budget of failures as it comes']);
    // A separate process, in which no limit is reached.
    const [lenientPort, lenientEnv] = [await freePort(), { ...env, WEBHOOK_AUTH_FAILURE_LIMIT: '10000' }];
    const lenient = await start(
      [main, 'ingress'],
      { ...lenientEnv, INGRESS_PORT: String(lenientPort) },
      /ingress is ready/,
    );
    children.push(lenient.child);
    await load(lenientPort, 10, () => githubDelivery(pick(webhooks)), { seconds: SECONDS * 2 });
    await benchRejections(lenientPort, webhooks, ['401, budget of failures lifted']);
    await stop(children.pop());

    console.log('Flatness, 10 connections:');
    const show = (what, { rate, p50, p99 }) =>
      console.log(
        `  ${what.padEnd(46)} ${rate.toFixed(0)} deliveries/s, p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)} ms`,
      );
    const measured = async (among) => {
      await accept('headrace', 10, among);
      const runs = [];
      for (let round = 0; round < ROUNDS; round += 1) runs.push(await accept('headrace', 10, among));
      return runs.sort((one, other) => one.rate - other.rate)[ROUNDS >> 1];
    };
    await db.query('TRUNCATE webhook_deliveries, webhook_identities');
    show(`${webhooks.length} webhooks, no stored delivery`, await measured(webhooks));
    const busy = webhooks.slice(0, WEBHOOKS);
    webhooks.push(...(await fillWebhooks(db, box, MANY_WEBHOOKS - webhooks.length)));
    await db.query('VACUUM ANALYZE webhooks, webhook_rates');
    show(`${webhooks.length} webhooks, ${busy.length} of them busy`, await measured(busy));
    show(`${webhooks.length} webhooks, each for its first time`, await measured(webhooks));
    await fillDeliveries(db, MANY_DELIVERIES);
    await db.query('VACUUM ANALYZE webhook_deliveries, webhook_identities');
    show(`and ${MANY_DELIVERIES} stored deliveries, ${busy.length} busy`, await measured(busy));
    if (process.env.BENCH_SCHEMES === '1') await benchSchemes(deliveryMicros);
    return summary;
  } finally {
    for (const child of children.reverse()) await stop(child);
    await db.end();
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/**
 * Requests on separate connections, byte for byte, one at a time each: the cheapest client there is. They send as many
 * as `allow` lets them, at once. `stop` returns how many were answered, by status.
 */
function strangers(port, makeRequest) {
  const answered = {};
  const sockets = new Set();
  const idle = new Set();
  let [allowed, sent, stopped] = [0, 0, false];
  const release = () => {
    for (const socket of idle) {
      if (sent >= allowed) return;
      sent += 1;
      idle.delete(socket);
      socket.write(makeRequest());
    }
  };
  const open = () => {
    const socket = connect(port, '127.0.0.1');
    sockets.add(socket);
    const rest = () => {
      idle.add(socket);
      release();
    };
    socket.on('connect', rest);
    socket.on('data', (chunk) => {
      const text = chunk.latin1Slice(0, 300);
      if (!text.startsWith('HTTP/1.1 ')) return;
      const status = text.slice(9, 12);
      answered[status] = (answered[status] ?? 0) + 1;
      if (text.includes('Connection: close')) socket.destroy();
      else rest();
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      idle.delete(socket);
      if (!stopped) open();
    });
  };
  for (let n = 0; n < STRANGERS; n += 1) open();
  return {
    ready: Promise.all([...sockets].map((socket) => once(socket, 'connect'))),
    allow: (more) => {
      allowed += more;
      release();
    },
    stop: () => {
      stopped = true;
      for (const socket of sockets) socket.destroy();
      return answered;
    },
  };
}

/** What strangers send. Those who guess at a signature guess at few webhooks, so that the budget means something. */
function strangeRequest(kind, webhooks) {
  const plain = (path, length, body, more = '') =>
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: ${STRANGER}\r\n${more}Content-Length: ${length}\r\n\r\n${body}`;
  const guessed = webhooks.slice(0, 20);
  const guess = `X-Hub-Signature-256: sha256=${'0'.repeat(64)}\r\n`;
  switch (kind.slice(0, 3)) {
    case '404':
      return () => plain(`/webhooks/w/${randomBytes(11).toString('hex')}`, 2, '{}');
    case '413':
      return () => plain(`/webhooks/w/${pick(webhooks).uid}`, 262_145, '');
    default:
      return () => plain(`/webhooks/w/${pick(guessed).uid}`, 2, '{}', guess);
  }
}

/**
 * Senders who deliver as fast as they can, alone and beside strangers who send ten requests for each of theirs. In turns;
 * the median of the pairs.
 */
async function benchRejections(port, webhooks, kinds) {
  for (const [kind, senders] of kinds.flatMap((kind) => [1, 10].map((senders) => [kind, senders]))) {
    const pairs = [];
    for (let round = 0; round < Math.ceil(ROUNDS / 2); round += 1) {
      const alone = only(await load(port, senders, () => githubDelivery(pick(webhooks))), 202);
      const others = strangers(port, strangeRequest(kind, webhooks));
      await others.ready;
      let accepted = 0;
      const beside = only(
        await load(port, senders, () => {
          accepted += 1;
          others.allow(TIMES);
          return githubDelivery(pick(webhooks));
        }),
        202,
      );
      const refused = others.stop();
      const times = Object.values(refused).reduce((sum, count) => sum + count, 0) / accepted;
      pairs.push({ alone, beside, times, refused, ratio: beside.rate / alone.rate });
    }
    const { alone, beside, times, refused, ratio } = pairs.sort((one, other) => one.ratio - other.ratio)[
      pairs.length >> 1
    ];
    const answers = Object.entries(refused).map(([status, count]) => `${count} × ${status}`);
    console.log(
      `  ${kind}, ${String(senders).padStart(2)} senders: ${beside.rate.toFixed(0)} accepted/s beside ${times.toFixed(1)} times as many rejections (${answers.join(', ')}), ${alone.rate.toFixed(0)} alone: ${ratio.toFixed(2)} (from ${pairs[0].ratio.toFixed(2)} to ${pairs.at(-1).ratio.toFixed(2)})`,
    );
  }
}
