import type pg from 'pg';
import type { Clock } from '#platform/kernel';
import { type CheckResult, type DoctorCheck, fail, ok, reasonOf, skip, warn } from '../check-result.js';
import type { DoctorContext } from '../doctor-context.js';

const NOTICEABLE_MS = 3_000;
const TOO_MUCH_MS = 30_000;
const SET_CLOCKS = 'Let both machines keep their clocks by NTP, such as with `timedatectl set-ntp true`.';

/** This machine's clock beside those of the database and of the API. */
export const clockCheck: DoctorCheck = {
  name: 'clock',
  uses: ['DATABASE_URL', 'HEADRACE_DATA_DIR'],
  examine: async ({ settings, database, api, clock, options: { isWorker } }) => {
    const results: CheckResult[] = [];
    const state = isWorker ? null : await database.open();
    if (state?.kind === 'open') results.push(await compareWithDatabase(state.pool, clock, settings.allowTestClock));
    // An API that does not answer is told by a check of its own.
    const answer = await api.readiness().catch(() => null);
    if (typeof answer?.aheadMs === 'number') results.push(rateSkew('the API', answer.aheadMs));
    return results.length > 0 ? results : [skip('not looked at: there is no other clock to compare with')];
  },
};

async function compareWithDatabase(pool: pg.Pool, clock: Clock, allowTestClock: boolean): Promise<CheckResult> {
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
    return rateSkew('the database', Number(rows[0]?.wall ?? 0) - middle);
  } finally {
    client.release();
  }
}

/** `aheadMs`: how far the other's clock is ahead of this machine's. */
export function rateSkew(other: string, aheadMs: number): CheckResult {
  const size = Math.abs(aheadMs);
  if (size < NOTICEABLE_MS) return ok(`at most ${Math.max(1, Math.ceil(size / 1000))} s off that of ${other}`);
  const found = `this machine is ${inSeconds(size)} ${aheadMs > 0 ? 'behind' : 'ahead of'} ${other}`;
  return size < TOO_MUCH_MS ? warn(found, SET_CLOCKS) : fail(found, SET_CLOCKS);
}

const inSeconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;

/** The API answers. On a machine that is to serve it, one that does not run is no fault. */
export const apiCheck: DoctorCheck = {
  name: 'api',
  uses: ['PORT', 'HOST', 'RUNNER_API_URL'],
  examine: async (context) => [await checkApi(context)],
};

async function checkApi({ api, options: { isWorker, origin } }: DoctorContext): Promise<CheckResult> {
  const { origin: at } = api;
  const isExpected = isWorker || origin !== null;
  try {
    const { status, isHeadrace } = await api.readiness();
    if (!isHeadrace)
      return fail(
        `what answers at ${at} is not Headrace (${status})`,
        'Mend the address, or the proxy in front of the API.',
      );
    if (status === 200) return ok(`${at} is ready`);
    return fail(
      `${at} answers that it is not ready (${status})`,
      `See \`curl ${at}/health/ready\` and the log of the API.`,
    );
  } catch (error) {
    const reason = reasonOf(error);
    if (!isExpected && reason === 'ECONNREFUSED') return skip(`nothing runs at ${at} now`);
    if (isCertificate(error))
      return fail(
        `the certificate of ${at} is not trusted (${reason})`,
        'Name the certificate of its authority with NODE_EXTRA_CA_CERTS.',
      );
    return fail(
      `${at} does not answer (${reason})`,
      isExpected
        ? 'Start the API, let this machine reach it, or mend --url.'
        : 'Look at the log of the API, and at RUNNER_API_URL.',
    );
  }
}

const isCertificate = (error: unknown): boolean =>
  /CERT|SELF_SIGNED|ALTNAME|UNABLE_TO_VERIFY/.test(String((error as { code?: unknown }).code));

const NEW_TOKEN = 'Make one where Headrace runs: headrace token create --service-account <uid>';

/** The token lets a worker in. Asked without a name, so that no worker connects. */
export const workerTokenCheck: DoctorCheck = {
  name: 'worker token',
  uses: [],
  examine: async (context) => [await checkWorkerToken(context)],
};

async function checkWorkerToken({ api, options: { token, isWorker } }: DoctorContext): Promise<CheckResult> {
  if (token === null)
    return isWorker
      ? fail('there is none', 'Set HEADRACE_TOKEN, or name a file with --token-file.', NEW_TOKEN)
      : skip('none was given');
  let status: number;
  try {
    status = await api.workerConnectionStatus(token);
  } catch {
    return skip('not looked at: the API does not answer');
  }
  switch (status) {
    case 400:
      return ok('the API takes it');
    case 401:
      return fail('the API does not know it (401)', NEW_TOKEN);
    case 403:
      // Other commands take a user's token from the same variable.
      return isWorker
        ? fail('it is not the token of a service account (403)', NEW_TOKEN)
        : skip('the API knows it; a worker would need that of a service account');
    case 404:
      return fail(
        'the API has no door for workers (404)',
        'Bring the API to a version with self-hosted workers, or mend --url.',
      );
    default:
      return fail(
        `the API answers ${status}`,
        'Look at the proxy in front of the API: it has to pass WebSocket upgrades on.',
      );
  }
}
