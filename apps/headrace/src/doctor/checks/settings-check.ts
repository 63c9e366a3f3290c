import type { DoctorCheck } from '../doctor-check.js';
import { findMisspelledSettings } from '#platform/config';
import { fail, ok, warn } from '../finding.js';
import { settingsNamedIn } from '../patient.js';

export const settingsCheck: DoctorCheck = {
  name: 'settings',
  uses: [],
  examine: ({ environment, settingFaults, settings: { allowTestClock } }) => {
    const faults = settingFaults.map((fault) => {
      const names = settingsNamedIn(fault).join(' and ');
      return fail(fault.replace(/\.$/, ''), `Mend ${names} in the environment or in .env; .env.example describes it.`);
    });
    const risks = allowTestClock
      ? [warn('HEADRACE_TEST_CLOCK is on: a test may move the clock', 'Unset HEADRACE_TEST_CLOCK, except for tests.')]
      : [];
    const misspelt = findMisspelledSettings(environment).map(({ given, meant }) =>
      warn(`${given} is not a setting and has no effect`, `Rename it to ${meant}, if that is what it is meant to be.`),
    );
    const findings = [...faults, ...risks, ...misspelt];
    return Promise.resolve(findings.length > 0 ? findings : [ok('all valid')]);
  },
};
