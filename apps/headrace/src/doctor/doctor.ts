import type { Environment, Settings } from '#platform/config';
import { type Clock, within } from '#platform/kernel';
import type { DoctorCheck, NamedCheckResult } from './check-result.js';
import { apiCheck, clockCheck, workerTokenCheck } from './checks/api-checks.js';
import { databaseCheck } from './checks/database-check.js';
import { containerCheck, executorCheck, harnessCheck } from './checks/execution-checks.js';
import { diskCheck, gitCheck, nodeCheck } from './checks/machine-checks.js';
import { objectStoreCheck } from './checks/object-store-check.js';
import { queueCheck } from './checks/queue-check.js';
import { secretsKeyCheck } from './checks/secrets-key-check.js';
import { portsCheck, settingsCheck } from './checks/settings-checks.js';
import { DoctorContext, type DoctorOptions, parseReadableSettings } from './doctor-context.js';
import { runChecks } from './run-checks.js';
import { SecretMask } from './secret-mask.js';

/** Checks of every machine, in the order of the output. */
const MACHINE_CHECKS: readonly DoctorCheck[] = [nodeCheck, gitCheck, settingsCheck, diskCheck];
const SERVER_CHECKS: readonly DoctorCheck[] = [
  databaseCheck,
  queueCheck,
  objectStoreCheck,
  secretsKeyCheck,
  portsCheck,
];
const API_CHECKS: readonly DoctorCheck[] = [clockCheck, apiCheck, workerTokenCheck];
const EXECUTION_CHECKS: readonly DoctorCheck[] = [executorCheck, containerCheck, harnessCheck];

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

/** Secrets that no output may contain, even in a message that quotes an invalid setting. */
function secretsOf(environment: Environment, settings: Settings, options: DoctorOptions): SecretMask {
  const { SECRETS_KEY, SECRETS_KEY_PREVIOUS, S3_SECRET_ACCESS_KEY, HEADRACE_TOKEN, GITHUB_API_TOKEN } = environment;
  const { WARP_API_KEY } = environment;
  return new SecretMask(
    [
      SECRETS_KEY,
      SECRETS_KEY_PREVIOUS,
      S3_SECRET_ACCESS_KEY,
      HEADRACE_TOKEN,
      GITHUB_API_TOKEN,
      WARP_API_KEY,
      options.token,
    ],
    [settings.databaseUrl, settings.queueUrl, environment.DATABASE_URL, environment.QUEUE_URL],
  );
}
