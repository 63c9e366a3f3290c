import type { Environment, Settings } from '#platform/config';
import type { Clock } from '#platform/kernel';
import { within } from '#platform/kernel';
import { apiCheck } from './checks/api-check.js';
import { clockCheck } from './checks/clock-check.js';
import { containerCheck } from './checks/container-check.js';
import { databaseCheck } from './checks/database-check.js';
import { diskCheck } from './checks/disk-check.js';
import { executorCheck } from './checks/executor-check.js';
import { gitCheck } from './checks/git-check.js';
import { harnessCheck } from './checks/harness-check.js';
import { nodeCheck } from './checks/node-check.js';
import { objectStoreCheck } from './checks/object-store-check.js';
import { portsCheck } from './checks/ports-check.js';
import { queueCheck } from './checks/queue-check.js';
import { secretsKeyCheck } from './checks/secrets-key-check.js';
import { settingsCheck } from './checks/settings-check.js';
import { workerTokenCheck } from './checks/worker-token-check.js';
import type { DoctorCheck } from './doctor-check.js';
import type { NamedFinding } from './finding.js';
import { SecretMask } from './masked.js';
import { type DoctorOptions, Patient } from './patient.js';
import { readableSettings } from './readable-settings.js';
import { runChecks } from './run-checks.js';

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
): Promise<readonly NamedFinding[]> {
  const { settings, faults } = readableSettings(environment);
  const patient = new Patient(environment, settings, faults, options, clock);
  const checks = [...EVERYWHERE, ...(options.isWorker ? [] : SERVER), ...OUTSIDE, ...EXECUTION];
  try {
    return await runChecks(checks, patient, secretsOf(environment, settings, options));
  } finally {
    await within(LEAVING_MS, patient.close(), () => undefined);
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
