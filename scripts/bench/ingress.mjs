// `npm run bench -- ingress`: accepted deliveries beside a bare node:http server that INSERTs the same row, on one
// PostgreSQL, in one run; then what rejections cost those who deliver, and how much the numbers of webhooks and of stored
// deliveries matter.
import { createHmac, randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { fillDeliveries, fillWebhooks } from './fill-webhooks.mjs';
import { dist, freePort, median, percentile, root, start, stop } from './support.mjs';

const POOL = 16;
const SECONDS = Number(process.env.BENCH_SECONDS ?? 2);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const WEBHOOKS = Number(process.env.BENCH_WEBHOOKS ?? 1000);
const MANY_WEBHOOKS = Number(process.env.BENCH_MANY_WEBHOOKS ?? 100_000);
const MANY_DELIVERIES = Number(process.env.BENCH_DELIVERIES ?? 1_000_000);
const CONNECTIONS = [1, 10, 50];
const FILLER = 'x'.repeat(900);

/** A signed request as GitHub sends it, with a body and an id of its own. */
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
  const { EmbeddedPostgres } = await dist('libs/persistence/src/index.js');
  const { parseSettings } = await dist('libs/config/src/index.js');
  const { SecretBox } = await dist('libs/secrets/src/index.js');
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
    const main = join(root, 'dist/apps/headrace/src/main.js');
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
      // Strangers and senders share an address here.
      WEBHOOK_AUTH_FAILURES: '10000',
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
    await accept('floor', 10, webhooks); // warm-up
    await accept('headrace', 10, webhooks);
    const summary = {};
    for (const connections of CONNECTIONS) {
      const seen = { floor: [], headrace: [] };
      for (let round = 0; round < ROUNDS; round += 1) {
        const order =
          round % 2 === 0 ? ['floor', 'headrace', 'headrace', 'floor'] : ['headrace', 'floor', 'floor', 'headrace'];
        for (const side of order) seen[side].push(await accept(side, connections, webhooks));
      }
      const ratios = seen.headrace.map(({ rate }, index) => rate / seen.floor[index].rate);
      summary[connections] = median(ratios);
      for (const side of ['floor', 'headrace'])
        console.log(
          `${String(connections).padStart(3)} connections, ${side.padEnd(8)} ${median(seen[side].map(({ rate }) => rate)).toFixed(0)} deliveries/s, p50 ${median(seen[side].map(({ p50 }) => p50)).toFixed(1)}, p99 ${median(seen[side].map(({ p99 }) => p99)).toFixed(1)} ms`,
        );
      console.log(
        `                 ratio    ${median(ratios).toFixed(2)} of the floor (from ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}; ${ratios.length} pairs of ${SECONDS} s, ${webhooks.length} webhooks)`,
      );
    }

    console.log('Rejections:');
    await benchRejections(port, webhooks);

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
    return summary;
  } finally {
    for (const child of children.reverse()) await stop(child);
    await db.end();
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Requests on connections of their own, byte for byte, one at a time each: the cheapest client there is. */
function strangers(port, connections, makeRequest, mayGoOn) {
  let answered = 0;
  let stopped = false;
  const sockets = new Set();
  const open = () => {
    const socket = connect(port, '127.0.0.1');
    sockets.add(socket);
    const ask = () => {
      if (stopped) socket.destroy();
      else if (mayGoOn(answered)) socket.write(makeRequest());
      else setTimeout(ask, 1);
    };
    socket.on('connect', ask);
    socket.on('data', (chunk) => {
      if (!chunk.includes('HTTP/1.1 ')) return;
      answered += 1;
      if (chunk.includes('Connection: close')) socket.destroy();
      else ask();
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      if (!stopped) open();
    });
  };
  for (let n = 0; n < connections; n += 1) open();
  return () => {
    stopped = true;
    for (const socket of sockets) socket.destroy();
    return answered;
  };
}

/** Senders who deliver, alone and beside ten times as many requests that are refused. */
async function benchRejections(port, webhooks) {
  const plain = (path, length, body, more = '') =>
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${more}Content-Length: ${length}\r\n\r\n${body}`;
  const kinds = {
    404: () => plain(`/webhooks/w/${randomBytes(11).toString('hex')}`, 2, '{}'),
    401: () => plain(`/webhooks/w/${pick(webhooks).uid}`, 2, '{}', `X-Hub-Signature-256: sha256=${'0'.repeat(64)}\r\n`),
    413: () => plain(`/webhooks/w/${pick(webhooks).uid}`, 262_145, ''),
  };
  const seconds = SECONDS * 2;
  for (const [name, kind, senders] of Object.entries(kinds).flatMap(([name, kind]) =>
    [1, 10].map((senders) => [name, kind, senders]),
  )) {
    const before = only(await load(port, senders, () => githubDelivery(pick(webhooks)), { seconds }), 202);
    let accepted = 0;
    const count = () => {
      accepted += 1;
      return githubDelivery(pick(webhooks));
    };
    const end = strangers(port, 50, kind, (answered) => answered < accepted * 10);
    const beside = only(await load(port, senders, count, { seconds }), 202);
    const rejected = end();
    console.log(
      `  ${name}, ${String(senders).padStart(2)} senders: ${beside.rate.toFixed(0)} accepted/s beside ${(rejected / accepted).toFixed(1)} times as many rejections, ${before.rate.toFixed(0)} alone: ${(beside.rate / before.rate).toFixed(2)}`,
    );
  }
}
