// `npm run bench -- snapshot`: what snapshots of a workspace cost, beside the floor of the same files with git, and with tar and
// zstd. Packs and manifests are sent over HTTP to a server in a separate process that writes them to disk.
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { dist, median } from './support.mjs';

const FILES = Number(process.env.BENCH_FILES ?? 10_000);
const FILE_BYTES = Number(process.env.BENCH_FILE_BYTES ?? 50_000);
const CHANGED = 20;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 21);
/** Of what reads or writes all files. */
const WHOLE_ROUNDS = 3;
const MIB = 1_048_576;
const INLINE_BYTES = MIB;
/** Aims. */
const UNCHANGED_MS = 30;
const TURN_RATIO = 1.5;
const WHOLE_RATIO = 2;

const SERVER = `
import { createServer } from 'node:http';
import { createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
const server = createServer(async (request, response) => {
  const file = await open(join(process.argv[1], request.url.slice(1)), 'w');
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  await file.writev(chunks);
  await file.sync();
  await file.close();
  response.writeHead(204).end();
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

export const benchSnapshot = async () => {
  const { WorkspaceSnapshots } = await dist('libs/execution/runner/src/snapshot/workspace-snapshots.js');
  const { placesIn } = await dist('libs/execution/runner/src/snapshot/open-directory.js');
  const { restoreWorkspace } = await dist('libs/execution/runner/src/snapshot/restore-workspace.js');
  const { parseManifest } = await dist('libs/execution/runner-protocol/src/index.js');
  const directory = mkdtempSync(join(tmpdir(), 'headrace-bench-'));
  const objects = join(directory, 'objects');
  mkdirSync(objects);
  const server = spawn(process.execPath, ['--input-type=module', '-e', SERVER, objects], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
    const origin = `http://127.0.0.1:${(await lines.next()).value}`;
    const limits = { max_bytes: 10 * 1024 * MIB, max_entries: 1_000_000 };
    const { sendRequest } = await dist('libs/execution/runner/src/protocol/http-client.js');
    const root = join(directory, 'workspace');
    makeTree(root);
    // Also by hand, so that both read from the cache of the kernel.
    const floor = join(directory, 'floor');
    const whole = join(directory, 'whole.tar.zst');
    run('cp', ['-a', root, floor]);

    let store;
    let snapshots;
    const first = await compare(
      'first snapshot',
      () => {
        rmSync(objects, { recursive: true });
        mkdirSync(objects);
        store = new HttpStore(origin, sendRequest);
        snapshots = new WorkspaceSnapshots({ places: placesIn(root), limits, store });
      },
      () => snapshots.create('start'),
      // The server writes packs to the disk, too.
      () => shell(`tar -C '${root}' -c . | zstd -q > '${whole}' && sync '${whole}'`),
      WHOLE_RATIO,
    );
    console.log(
      `               ${(store.bytes / MIB).toFixed(0)} MiB stored of ${((FILES * FILE_BYTES) / MIB).toFixed(0)} MiB`,
    );
    // Files that were just written are looked at once more.
    await snapshots.create('turn');

    const unchanged = [];
    for (let round = 0; round < ROUNDS; round += 1) unchanged.push(await timed(() => snapshots.create('turn')));
    report('no change', median(unchanged), UNCHANGED_MS);

    const turns = [];
    const floors = [];
    const stored = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const tree of [root, floor]) change(tree, round);
      const before = store.bytes;
      const own = () => snapshots.create('turn');
      const byHand = () => shell(`cd '${join(floor, 'work/app')}' && git add -A && git write-tree`);
      // Alternating, so that neither is always the first one.
      if (round % 2 === 0) turns.push(await timed(own));
      floors.push(await timed(byHand));
      if (round % 2 !== 0) turns.push(await timed(own));
      stored.push(store.bytes - before);
    }
    const turn = median(turns) / median(floors);
    console.log(
      `turn           git add -A && git write-tree ${median(floors).toFixed(0)} ms, snapshot ${median(turns).toFixed(0)} ms (${CHANGED} of ${FILES} files changed, ${ROUNDS} rounds)`,
    );
    verdict(turn <= TURN_RATIO, `${turn.toFixed(2)} × the floor`, `${TURN_RATIO} ×`);
    console.log(`               ${(median(stored) / 1024).toFixed(0)} KiB stored for a turn`);

    const restored = join(directory, 'restored');
    const byTar = join(directory, 'by-tar');
    const manifest = await parseManifest(gunzipSync(store.manifest), limits);
    const getPack = (packId) => readFile(join(objects, packId));
    const restore = await compare(
      'restore',
      () => {
        for (const path of [restored, byTar]) rmSync(path, { recursive: true, force: true });
        for (const path of [join(restored, 'home'), join(restored, 'work'), byTar])
          mkdirSync(path, { recursive: true });
      },
      () => restoreWorkspace({ places: placesIn(restored), manifest, getPack, signal: new AbortController().signal }),
      () => shell(`zstd -q -d < '${whole}' | tar -C '${byTar}' -x`),
      WHOLE_RATIO,
    );
    return { first, unchanged: median(unchanged), turn, restore };
  } finally {
    server.kill();
    rmSync(directory, { recursive: true, force: true });
  }
};

class HttpStore {
  bytes = 0;
  manifest = Buffer.alloc(0);

  constructor(origin, send) {
    this.origin = origin;
    this.send = send;
  }

  /** The runner sends a small pack together with the manifest. */
  async putPack(packId, content) {
    const size = content.reduce((sum, { length }) => sum + length, 0);
    if (size <= INLINE_BYTES) this.held = [packId, Buffer.concat(content)];
    else await this.put(packId, content);
  }

  async putManifest(manifest) {
    this.manifest = manifest;
    const [packId = 'manifest', pack = Buffer.alloc(0)] = this.held ?? [];
    this.held = null;
    await this.put(packId, [pack, manifest]);
    return 'manifest';
  }

  /** With the client of the runner. */
  async put(name, body) {
    this.bytes += body.reduce((sum, { length }) => sum + length, 0);
    const url = new URL(`${this.origin}/${name}`);
    const { status } = await this.send({ method: 'PUT', url, headers: {}, body, timeoutMs: 60_000, signals: [] });
    if (status !== 204) throw new Error(`The server answered with ${status}.`);
  }
}

/** A repository, half of it text and half of it random bytes. Git starts no maintenance, which would run during the measures. */
function makeTree(root) {
  const app = join(root, 'work/app');
  mkdirSync(join(root, 'home'), { recursive: true });
  for (let index = 0; index < FILES; index += 1) {
    const directory = join(app, `d${index % 100}`);
    if (index < 100) mkdirSync(directory, { recursive: true });
    const random = randomBytes(index % 2 === 0 ? FILE_BYTES : FILE_BYTES / 4);
    writeFileSync(join(directory, `f${index}`), index % 2 === 0 ? random : random.toString('hex').repeat(2));
  }
  shell(
    `cd '${app}' && git init -q && git config gc.auto 0 && git config user.name a && git config user.email a@example.test && git add -A && git commit -qm first`,
  );
}

function change(root, round) {
  for (let index = 0; index < CHANGED; index += 1) {
    const number = (index * 401 + round) % FILES;
    appendFileSync(join(root, `work/app/d${number % 100}/f${number}`), `round ${round}`);
  }
}

function run(program, args) {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} failed: ${stderr}`);
}

const shell = (script) => run('bash', ['-o', 'pipefail', '-c', script]);

/** What was written before is on the disk: it would slow down what comes next. */
async function timedAlone(work) {
  run('sync', []);
  return timed(work);
}

async function timed(work) {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

async function compare(label, prepare, own, byHand, aim) {
  const times = [];
  const floors = [];
  for (let round = 0; round < WHOLE_ROUNDS; round += 1) {
    prepare();
    // Alternating, so that neither is always the first one.
    if (round % 2 !== 0) times.push(await timedAlone(own));
    floors.push(await timedAlone(byHand));
    if (round % 2 === 0) times.push(await timedAlone(own));
  }
  const ratio = median(times) / median(floors);
  console.log(
    `${label.padEnd(15)}tar and zstd ${median(floors).toFixed(0)} ms, headrace ${median(times).toFixed(0)} ms (${WHOLE_ROUNDS} rounds)`,
  );
  verdict(ratio <= aim, `${ratio.toFixed(2)} × the floor`, `${aim} ×`);
  return ratio;
}

function report(label, ms, aim) {
  console.log(`${label.padEnd(15)}${ms.toFixed(1)} ms (${ROUNDS} rounds)`);
  verdict(ms <= aim, `${ms.toFixed(1)} ms`, `${aim} ms`);
}

const verdict = (isWithin, value, aim) =>
  console.log(`               ${isWithin ? 'within' : 'MISSED'}: ${value}; the aim is ${aim}`);
