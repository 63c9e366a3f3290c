import type pg from 'pg';
import type { Clock } from '#platform/kernel';
import type { DoctorCheck } from '../doctor-check.js';
import { fail, type Finding, ok, skip, warn } from '../finding.js';

const NOTICEABLE_MS = 3_000;
const TOO_MUCH_MS = 30_000;
const SET_CLOCKS = 'Let both machines keep their clocks by NTP, such as with `timedatectl set-ntp true`.';

/** This machine's clock beside those of the database and of the API. */
export const clockCheck: DoctorCheck = {
  name: 'clock',
  uses: ['DATABASE_URL', 'HEADRACE_DATA_DIR'],
  examine: async ({ settings, database, api, clock, options: { isWorker } }) => {
    const findings: Finding[] = [];
    const state = isWorker ? null : await database.open();
    if (state?.kind === 'open') findings.push(await besideDatabase(state.pool, clock, settings.allowTestClock));
    // An API that does not answer is told by a check of its own.
    const answer = await api.readiness().catch(() => null);
    if (typeof answer?.aheadMs === 'number') findings.push(judgeSkew('the API', answer.aheadMs));
    return findings.length > 0 ? findings : [skip('not looked at: there is no other clock to compare with')];
  },
};

async function besideDatabase(pool: pg.Pool, clock: Clock, allowTestClock: boolean): Promise<Finding> {
  // The first statement of a connection takes longer.
  const client = await pool.connect();
  try {
    await client.query('SELECT 1');
    const { rows: functions } = await client.query<{ there: boolean }>(
      `SELECT to_regprocedure('headrace.now()') IS NOT NULL AS there`,
    );
    const moved = functions[0]?.there === true ? 'headrace.now() - pg_catalog.now()' : `interval '0'`;
    const before = clock.now().getTime();
    const { rows } = await client.query<{ wall: string; shift: string }>(
      `SELECT extract(epoch FROM clock_timestamp()) * 1000 AS wall, extract(epoch FROM ${moved}) * 1000 AS shift`,
    );
    const middle = (before + clock.now().getTime()) / 2;
    const shift = Number(rows[0]?.shift ?? 0);
    if (shift !== 0 && !allowTestClock)
      return fail(
        `the database's time was moved by ${inSeconds(shift)}, by a test`,
        `Run this in the database: UPDATE headrace.test_clock SET shift = '0';`,
      );
    return judgeSkew('the database', Number(rows[0]?.wall ?? 0) - middle);
  } finally {
    client.release();
  }
}

/** `aheadMs`: how far the other's clock is ahead of this machine's. */
export function judgeSkew(other: string, aheadMs: number): Finding {
  const size = Math.abs(aheadMs);
  if (size < NOTICEABLE_MS) return ok(`at most ${Math.max(1, Math.ceil(size / 1000))} s off that of ${other}`);
  const found = `this machine is ${inSeconds(size)} ${aheadMs > 0 ? 'behind' : 'ahead of'} ${other}`;
  return size < TOO_MUCH_MS ? warn(found, SET_CLOCKS) : fail(found, SET_CLOCKS);
}

const inSeconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;
