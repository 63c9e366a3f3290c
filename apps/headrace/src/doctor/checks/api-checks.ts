import type pg from 'pg';
import type { Clock } from '#platform/kernel';
import { type CheckResult, type DoctorCheck, fail, ok, reasonOf, skip, warn } from '../check-result.js';
import type { DoctorContext } from '../doctor-context.js';

const WARNING_MS = 3_000;
const FAILURE_MS = 30_000;
const SET_CLOCKS = 'Synchronize the clocks of both machines by NTP, for example with `timedatectl set-ntp true`.';

export const clockCheck: DoctorCheck = {
  name: 'clock',
  uses: ['DATABASE_URL', 'HEADRACE_DATA_DIR'],
  examine: async ({ settings, database, api, clock, options: { isWorker } }) => {
    const results: CheckResult[] = [];
    const state = isWorker ? null : await database.open();
    if (state?.kind === 'open') results.push(await compareWithDatabase(state.pool, clock, settings.allowTestClock));
    // The check `api` reports an API that does not answer.
    const response = await api.readiness().catch(() => null);
    if (typeof response?.aheadMs === 'number') results.push(rateSkew('the API', response.aheadMs));
    return results.length > 0 ? results : skip('not checked: there is no other clock to compare with');
  },
};

async function compareWithDatabase(pool: pg.Pool, clock: Clock, allowTestClock: boolean): Promise<CheckResult> {
  // The first statement of a connection is slower and would distort the comparison.
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
        `a test moved the time of the database by ${inSeconds(shift)}`,
        `Execute in the database: UPDATE headrace.test_clock SET shift = '0';`,
      );
    return rateSkew('the database', Number(rows[0]?.wall ?? 0) - middle);
  } finally {
    client.release();
  }
}

/** `aheadMs`: how far the other clock is ahead of the clock of this machine. */
export function rateSkew(other: string, aheadMs: number): CheckResult {
  const size = Math.abs(aheadMs);
  if (size < WARNING_MS) return ok(`at most ${Math.max(1, Math.ceil(size / 1000))} s off that of ${other}`);
  const found = `this machine is ${inSeconds(size)} ${aheadMs > 0 ? 'behind' : 'ahead of'} ${other}`;
  return size < FAILURE_MS ? warn(found, SET_CLOCKS) : fail(found, SET_CLOCKS);
}

const inSeconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;

/** The API answers. On a server, an API that is not running is no failure. */
export const apiCheck: DoctorCheck = {
  name: 'api',
  uses: ['PORT', 'HOST', 'RUNNER_API_URL'],
  examine: checkApi,
};

async function checkApi({ api, options: { isWorker, origin } }: DoctorContext): Promise<CheckResult> {
  const { origin: at } = api;
  const isExpected = isWorker || origin !== null;
  try {
    const { status, isHeadrace } = await api.readiness();
    if (!isHeadrace)
      return fail(
        `the server at ${at} is not Headrace (${status})`,
        'Fix the address, or the proxy in front of the API.',
      );
    if (status === 200) return ok(`${at} is ready`);
    return fail(`${at} is not ready (${status})`, `See \`curl ${at}/health/ready\` and the log of the API.`);
  } catch (error) {
    const reason = reasonOf(error);
    if (!isExpected && reason === 'ECONNREFUSED') return skip(`nothing is running at ${at}`);
    if (isCertificate(error))
      return fail(
        `the certificate of ${at} is not trusted (${reason})`,
        'Set NODE_EXTRA_CA_CERTS to the certificate of its authority.',
      );
    return fail(
      `${at} does not answer (${reason})`,
      isExpected
        ? 'Start the API, make it reachable from this machine, or fix --url.'
        : 'Check the log of the API, and RUNNER_API_URL.',
    );
  }
}

const isCertificate = (error: unknown): boolean =>
  /CERT|SELF_SIGNED|ALTNAME|UNABLE_TO_VERIFY/.test(String((error as { code?: unknown }).code));

const NEW_TOKEN = 'Create one: headrace token create --service-account <uid>';

/** The API accepts the token for workers. The request names no worker, so that none connects. */
export const workerTokenCheck: DoctorCheck = {
  name: 'worker token',
  uses: [],
  examine: checkWorkerToken,
};

async function checkWorkerToken({ api, options: { token, isWorker } }: DoctorContext): Promise<CheckResult> {
  if (token === null)
    return isWorker ? fail('no token', 'Set HEADRACE_TOKEN, or use --token-file.', NEW_TOKEN) : skip('no token');
  let status: number;
  try {
    status = await api.workerConnectionStatus(token);
  } catch {
    return skip('not checked: the API does not answer');
  }
  switch (status) {
    case 400:
      return ok('accepted by the API');
    case 401:
      return fail('rejected by the API (401)', NEW_TOKEN);
    case 403:
      // Other commands read the token of a user from the same variable.
      return isWorker
        ? fail('not the token of a service account (403)', NEW_TOKEN)
        : skip('valid; a worker would need the token of a service account');
    case 404:
      return fail(
        'the API has no endpoint for workers (404)',
        'Update the API to a version with self-hosted workers, or fix --url.',
      );
    default:
      return fail(
        `the API answers ${status}`,
        'Check the proxy in front of the API: it must forward WebSocket upgrades.',
      );
  }
}
