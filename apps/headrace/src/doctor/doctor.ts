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

/** Of every machine, in the order in which they are shown. */
const EVERYWHERE: readonly DoctorCheck[] = [nodeCheck, gitCheck, settingsCheck, diskCheck];
const SERVER: readonly DoctorCheck[] = [databaseCheck, queueCheck, objectStoreCheck, secretsKeyCheck, portsCheck];
const OUTSIDE: readonly DoctorCheck[] = [clockCheck, apiCheck, workerTokenCheck];
const EXECUTION: readonly DoctorCheck[] = [executorCheck, containerCheck, harnessCheck];

const LEAVING_MS = 1_000;

/** Looks at an installation, or at a worker's machine. Leaves everything as it was. */
export async function examine(
  environment: Environment,
  options: DoctorOptions,
  clock: Clock,
): Promise<readonly NamedCheckResult[]> {
  const { settings, faults } = parseReadableSettings(environment);
  const context = new DoctorContext(environment, settings, faults, options, clock);
  const checks = [...EVERYWHERE, ...(options.isWorker ? [] : SERVER), ...OUTSIDE, ...EXECUTION];
  try {
    return await runChecks(checks, context, secretsOf(environment, settings, options));
  } finally {
    await within(LEAVING_MS, context.close(), () => undefined);
  }
}

/** Nothing of this may be shown, also where a setting is wrong and its value is quoted. */
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
