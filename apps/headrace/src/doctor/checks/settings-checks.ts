import { findMisspelledSettings } from '#platform/config';
import { tryPort } from '../../process/prepare-settings.js';
import { type CheckResult, type DoctorCheck, fail, ok, warn } from '../check-result.js';
import { isUp, settingsNamedIn } from '../doctor-context.js';

export const settingsCheck: DoctorCheck = {
  name: 'settings',
  uses: [],
  examine: ({ environment, settingProblems, settings: { allowTestClock } }) => {
    const problems = settingProblems.map((problem) => {
      const names = settingsNamedIn(problem).join(' and ');
      return fail(problem.replace(/\.$/, ''), `Fix ${names} in the environment or in .env; .env.example describes it.`);
    });
    const risk = warn(
      'HEADRACE_TEST_CLOCK is on: tests can move the clock',
      'Unset HEADRACE_TEST_CLOCK, except for tests.',
    );
    const misspelt = findMisspelledSettings(environment).map(({ given, meant }) =>
      warn(`${given} is not a setting and has no effect`, `Rename it to ${meant} if that is the setting you mean.`),
    );
    const results = [...problems, ...(allowTestClock ? [risk] : []), ...misspelt];
    return results.length > 0 ? results : ok('all valid');
  },
};

export const portsCheck: DoctorCheck = {
  name: 'ports',
  uses: ['HOST', 'PORT', 'INGRESS_PORT', 'HEADRACE_DATA_DIR'],
  examine: async ({ settings, api }) => {
    const answers = await api.readiness().then(
      ({ isHeadrace }) => isHeadrace,
      () => false,
    );
    const isOurs = answers || isUp(settings.dataDir);
    return Promise.all([
      checkPort(settings.host, settings.port, 'PORT', 'API', isOurs),
      checkPort(settings.host, settings.ingressPort, 'INGRESS_PORT', 'ingress', isOurs),
    ]);
  },
};

async function checkPort(
  host: string,
  port: number,
  setting: string,
  what: string,
  isOurs: boolean,
): Promise<CheckResult> {
  if (port === 0) return ok(`${setting}: a free port is selected at the start`);
  const place = `${setting} ${port} on ${host}`;
  const code = await tryPort(host, port).then(
    () => null,
    ({ code, message }: NodeJS.ErrnoException) => code ?? message,
  );
  switch (code) {
    case null:
      return ok(`${place} is free`);
    case 'EADDRINUSE':
      return isOurs
        ? ok(`${place} is used by the running ${what}`)
        : fail(
            `${place} is used by another process`,
            `Stop that process (\`ss -ltnp 'sport = :${port}'\` shows it), or set ${setting} to another port.`,
          );
    case 'EACCES':
      return fail(
        `this user is not allowed to use ${place}`,
        `Set ${setting} to a port of at least 1024, behind a proxy.`,
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return fail(
        `HOST ${host} is not an address of this machine`,
        'Set HOST to 127.0.0.1, to 0.0.0.0 or to an address of this machine.',
      );
    default:
      return fail(`${place} cannot be used (${code})`, `Set HOST and ${setting} to an address that a server can bind.`);
  }
}
