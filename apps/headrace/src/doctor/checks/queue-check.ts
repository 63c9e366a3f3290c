import pg from 'pg';
import { areQueuesMigrated } from '#platform/jobs';
import { type DatabaseState, impatientPool } from '../database-door.js';
import type { DoctorCheck } from '../doctor-check.js';
import { fail, type Finding, ok, skip, warn } from '../finding.js';
import { placeOf } from '../masked.js';
import { reasonOf } from '../reason.js';
import { askRedis } from '../redis-question.js';
import { unreachable } from './database-check.js';

const OLDEST_REDIS: readonly [number, number] = [6, 2];

/** Where jobs lie: the database, another PostgreSQL, or Redis. */
export const queueCheck: DoctorCheck = {
  name: 'queue',
  uses: ['QUEUE_URL'],
  examine: async ({ settings: { queueUrl }, database }) => {
    if (queueUrl === undefined) return [await inDatabase(await database.open())];
    return [await (queueUrl.startsWith('redis') ? inRedis(queueUrl) : inOtherDatabase(queueUrl))];
  },
};

async function inDatabase(state: DatabaseState): Promise<Finding> {
  switch (state.kind) {
    case 'open':
      return schemaOf(state.pool, 'in the database');
    case 'at_rest':
      return ok('in the database');
    case 'unusable':
      return skip('not looked at: it is in the database');
  }
}

async function inOtherDatabase(url: string): Promise<Finding> {
  const pool = impatientPool(url);
  try {
    await pool.query('SELECT 1');
    return await schemaOf(pool, `in ${placeOf(url)}`);
  } catch (error) {
    return unreachable(error instanceof Error ? error : new Error(String(error)), url, 'QUEUE_URL');
  } finally {
    await pool.end();
  }
}

async function schemaOf(pool: pg.Pool, where: string): Promise<Finding> {
  return (await areQueuesMigrated(pool))
    ? ok(`${where}, at the newest schema`)
    : fail(`${where}: its schema is not there or behind`, 'headrace migrate');
}

async function inRedis(url: string): Promise<Finding> {
  const place = placeOf(url);
  let facts: string;
  try {
    facts = await askRedis(url);
  } catch (error) {
    return fail(
      `${place} does not answer as Redis does (${reasonOf(error)})`,
      'Start Redis there and let this machine reach it, mend QUEUE_URL, or unset it: queues are in the database then.',
    );
  }
  const version = /^redis_version:(\S+)/m.exec(facts)?.[1] ?? 'of an unknown version';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < OLDEST_REDIS[0] || (major === OLDEST_REDIS[0] && minor < OLDEST_REDIS[1]))
    return warn(`${place}: Redis ${version}`, `Use Redis ${OLDEST_REDIS.join('.')} or newer.`);
  const policy = /^maxmemory_policy:(\S+)/m.exec(facts)?.[1];
  if (policy !== undefined && policy !== 'noeviction')
    return warn(
      `${place}: Redis ${version} may throw jobs away (${policy})`,
      'Set maxmemory-policy noeviction in Redis.',
    );
  return ok(`${place}: Redis ${version}`);
}
