import type { DoctorCheck } from '../doctor-check.js';
import { fail, ok, warn } from '../finding.js';
import { settingsNamedIn } from '../patient.js';

export const settingsCheck: DoctorCheck = {
  name: 'settings',
  uses: [],
  examine: ({ settingFaults, settings: { allowTestClock } }) => {
    const faults = settingFaults.map((fault) => {
      const names = settingsNamedIn(fault).join(' and ');
      return fail(fault.replace(/\.$/, ''), `Mend ${names} in the environment or in .env; .env.example describes it.`);
    });
    const risks = allowTestClock
      ? [warn('HEADRACE_TEST_CLOCK is on: a test may move the clock', 'Unset HEADRACE_TEST_CLOCK, except for tests.')]
      : [];
    return Promise.resolve(faults.length + risks.length > 0 ? [...faults, ...risks] : [ok('all valid')]);
  },
};
