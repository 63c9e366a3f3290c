import type { Environment, Settings } from '#platform/config';
import { type Clock, within } from '#platform/kernel';
import { printable, renderTable } from '../cli/output.js';
import {
  type CheckResult,
  type DoctorCheck,
  fail,
  type NamedCheckResult,
  reasonOf,
  skip,
  type Verdict,
} from './check-result.js';
import { apiCheck, clockCheck, workerTokenCheck } from './checks/api-checks.js';
import { databaseCheck } from './checks/database-check.js';
import { containerCheck, executorCheck, harnessCheck } from './checks/execution-checks.js';
import { diskCheck, gitCheck, nodeCheck } from './checks/machine-checks.js';
import { pluginsCheck } from './checks/plugins-check.js';
import { objectStoreCheck } from './checks/object-store-check.js';
import { queueCheck } from './checks/queue-check.js';
import { secretsKeyCheck } from './checks/secrets-key-check.js';
import { portsCheck, settingsCheck } from './checks/settings-checks.js';
import { DoctorContext, type DoctorOptions, parseReadableSettings } from './doctor-context.js';
import { SecretMask } from './secret-mask.js';

const MACHINE_CHECKS: readonly DoctorCheck[] = [nodeCheck, gitCheck, settingsCheck, pluginsCheck, diskCheck];
const SERVER_CHECKS: readonly DoctorCheck[] = [
  databaseCheck,
  queueCheck,
  objectStoreCheck,
  secretsKeyCheck,
  portsCheck,
];
const API_CHECKS: readonly DoctorCheck[] = [clockCheck, apiCheck, workerTokenCheck];
const EXECUTION_CHECKS: readonly DoctorCheck[] = [executorCheck, containerCheck, harnessCheck];

/** Of one check. */
const LIMIT_MS = 15_000;
const CLOSE_TIMEOUT_MS = 1_000;

/** Checks an installation or the machine of a worker, without changing anything. */
export async function examine(
  environment: Environment,
  options: DoctorOptions,
  clock: Clock,
): Promise<readonly NamedCheckResult[]> {
  const { settings, problems } = parseReadableSettings(environment);
  const context = new DoctorContext(environment, settings, problems, options, clock);
  const checks = [...MACHINE_CHECKS, ...(options.isWorker ? [] : SERVER_CHECKS), ...API_CHECKS, ...EXECUTION_CHECKS];
  try {
    return await runChecks(checks, context, secretsOf(environment, settings, options));
  } finally {
    await within(CLOSE_TIMEOUT_MS, context.close(), () => undefined);
  }
}

const SECRET_VARIABLES = [
  ...['SECRETS_KEY', 'SECRETS_KEY_PREVIOUS', 'S3_SECRET_ACCESS_KEY'],
  ...['HEADRACE_TOKEN', 'GITHUB_API_TOKEN', 'WARP_API_KEY'],
];

/** Secrets that no output may contain, even in a message that quotes an invalid setting. */
function secretsOf(environment: Environment, settings: Settings, options: DoctorOptions): SecretMask {
  return new SecretMask(
    [...SECRET_VARIABLES.map((name) => environment[name]), options.token],
    [settings.databaseUrl, settings.queueUrl, environment.DATABASE_URL, environment.QUEUE_URL],
  );
}

/** Runs all checks concurrently. Results are in the order of the checks. */
async function runChecks(
  checks: readonly DoctorCheck[],
  context: DoctorContext,
  mask: SecretMask,
): Promise<NamedCheckResult[]> {
  const results = await Promise.all(
    checks.map(async (check) => {
      const found = await within(LIMIT_MS, runCheck(check, context), () => [
        fail(
          `took longer than ${LIMIT_MS / 1000} s`,
          'Find the cause: a disk, a name service or a firewall that drops packets.',
        ),
      ]);
      return found.map((result) => ({ check: check.name, ...masked(result, mask) }));
    }),
  );
  return results.flat();
}

async function runCheck(check: DoctorCheck, context: DoctorContext): Promise<readonly CheckResult[]> {
  const wrong = check.uses.filter((setting) => context.isInvalid(setting));
  if (wrong.length > 0) return [skip(`not checked: ${wrong.join(', ')} is invalid`)];
  try {
    return [await check.examine(context)].flat();
  } catch (error) {
    return [fail(`the check failed (${reasonOf(error)})`, 'Fix the cause and run the doctor again.')];
  }
}

function masked({ verdict, found, fix }: CheckResult, mask: SecretMask): CheckResult {
  return { verdict, found: mask.mask(found), ...(fix ? { fix: fix.map((line) => mask.mask(line)) } : {}) };
}

export function renderResults(results: readonly NamedCheckResult[]): string {
  const rows = results.map(({ check, verdict, found }) => [check, verdict, found]);
  const fixes = results.flatMap(({ check, verdict, fix = [] }) =>
    fix.length === 0 ? [] : [`  ${check} (${verdict})`, ...fix.map((line) => `    ${printable(line)}`)],
  );
  return [
    renderTable(['CHECK', 'VERDICT', 'FOUND'], rows),
    ...(fixes.length > 0 ? ['', 'To fix:', ...fixes] : []),
    '',
    summary(results),
  ].join('\n');
}

function summary(results: readonly NamedCheckResult[]): string {
  const count = (verdict: Verdict): number => results.filter((result) => result.verdict === verdict).length;
  const warnings = `${count('warn')} ${count('warn') === 1 ? 'warning' : 'warnings'}`;
  if (count('fail') > 0) return `${count('fail')} failed, ${warnings}.`;
  return count('warn') > 0 ? `Nothing failed, ${warnings}.` : 'Nothing failed.';
}

/** For programs: `ok` is false when something failed. */
export function resultsAsJson(results: readonly NamedCheckResult[]): string {
  return JSON.stringify({ ok: isHealthy(results), checks: results }, null, 2);
}

export const isHealthy = (results: readonly NamedCheckResult[]): boolean =>
  results.every(({ verdict }) => verdict !== 'fail');
