import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import pg from 'pg';
import { areQueuesMigrated } from '#platform/jobs';
import {
  type CheckResult,
  type DoctorCheck,
  fail,
  isAtLeast,
  ok,
  reasonOf,
  skip,
  type Version,
  warn,
} from '../check-result.js';
import { type DatabaseState, openProbePool } from '../database-probe.js';
import { locationOf } from '../secret-mask.js';
import { unreachable } from './database-check.js';

const OLDEST_REDIS: Version = [6, 2];

export const queueCheck: DoctorCheck = {
  name: 'queue',
  uses: ['QUEUE_URL'],
  examine: async ({ settings: { queueUrl }, database }) => {
    if (queueUrl === undefined) return inDatabase(await database.open());
    return queueUrl.startsWith('redis') ? inRedis(queueUrl) : inOtherDatabase(queueUrl);
  },
};

function inDatabase(state: DatabaseState): CheckResult | Promise<CheckResult> {
  switch (state.kind) {
    case 'open':
      return schemaOf(state.pool, 'in the database');
    case 'stopped':
      return ok('in the database');
    case 'unusable':
      return skip('not checked: the queue is in the database');
  }
}

async function inOtherDatabase(url: string): Promise<CheckResult> {
  const pool = openProbePool(url);
  try {
    await pool.query('SELECT 1');
    return await schemaOf(pool, `in ${locationOf(url)}`);
  } catch (error) {
    return unreachable(error instanceof Error ? error : new Error(String(error)), url, 'QUEUE_URL');
  } finally {
    await pool.end();
  }
}

async function schemaOf(pool: pg.Pool, where: string): Promise<CheckResult> {
  return (await areQueuesMigrated(pool))
    ? ok(`${where}, schema up to date`)
    : fail(`${where}: the schema is missing or outdated`, 'headrace migrate');
}

async function inRedis(url: string): Promise<CheckResult> {
  const place = locationOf(url);
  let facts: string;
  try {
    facts = await queryRedis(url);
  } catch (error) {
    return fail(
      `${place} does not respond like Redis (${reasonOf(error)})`,
      'Start Redis there and make it reachable from this machine, fix QUEUE_URL, or unset it to keep queues in the database.',
    );
  }
  const version = /^redis_version:(\S+)/m.exec(facts)?.[1] ?? 'of unknown version';
  if (!isAtLeast(version, OLDEST_REDIS))
    return warn(`${place}: Redis ${version}`, `Use Redis ${OLDEST_REDIS.join('.')} or newer.`);
  const policy = /^maxmemory_policy:(\S+)/m.exec(facts)?.[1];
  if (policy !== undefined && policy !== 'noeviction')
    return warn(`${place}: Redis ${version} may evict jobs (${policy})`, 'Set maxmemory-policy noeviction in Redis.');
  return ok(`${place}: Redis ${version}`);
}

const TIMEOUT_MS = 4_000;
const MAX_ANSWER_BYTES = 1_048_576;

/** Without the client package, which is optional. Rejects when it is no Redis, rejects the password or does not answer. */
function queryRedis(text: string): Promise<string> {
  const url = new URL(text);
  const place = { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 6379) };
  const [user, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  const auth = password === '' ? [] : [user === '' ? ['AUTH', password] : ['AUTH', user, password]];
  const commands = [...auth, ['PING'], ['INFO', 'server'], ['INFO', 'memory'], ['QUIT']];
  return new Promise((resolve, reject) => {
    const socket: Socket =
      url.protocol === 'rediss:' ? connectTls({ ...place, servername: place.host }) : connectTcp(place);
    let answer = '';
    const timer = setTimeout(() => socket.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)), TIMEOUT_MS);
    socket.setEncoding('utf8');
    socket.once('close', () => clearTimeout(timer));
    socket.once('error', reject);
    socket.on('data', (chunk: string) => {
      answer += chunk;
      if (answer.length > MAX_ANSWER_BYTES) socket.destroy(new Error('the response is too long'));
    });
    socket.once('end', () => {
      socket.destroy();
      const problem = /^-([^\r\n]*)/m.exec(answer)?.[1];
      if (problem !== undefined) reject(new Error(problem));
      else if (!answer.includes('+PONG')) reject(new Error('no PONG after a PING'));
      else resolve(answer.replaceAll('\r\n', '\n'));
    });
    socket.write(commands.map(encodeCommand).join(''));
  });
}

/** The Redis protocol: an array of bulk strings. */
const encodeCommand = (words: readonly string[]): string =>
  `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
