import { within } from '#platform/kernel';
import type { DoctorCheck } from './doctor-check.js';
import { fail, type Finding, type NamedFinding, skip } from './finding.js';
import type { SecretMask } from './masked.js';
import type { Patient } from './patient.js';
import { reasonOf } from './reason.js';

const LIMIT_MS = 15_000;

/** All checks at the same time, each for `limitMs` at most; their findings in the order of the checks. */
export async function runChecks(
  checks: readonly DoctorCheck[],
  patient: Patient,
  mask: SecretMask,
  limitMs: number = LIMIT_MS,
): Promise<NamedFinding[]> {
  const findings = await Promise.all(
    checks.map(async (check) => {
      const found = await within(limitMs, examine(check, patient), () => [
        fail(
          `took longer than ${limitMs / 1000} s`,
          'Look for what hangs: a disk, a name service, a firewall that drops packets.',
        ),
      ]);
      return found.map((finding) => ({ check: check.name, ...masked(finding, mask) }));
    }),
  );
  return findings.flat();
}

async function examine(check: DoctorCheck, patient: Patient): Promise<readonly Finding[]> {
  const wrong = check.uses.filter((setting) => patient.isWrong(setting));
  if (wrong.length > 0) return [skip(`not looked at: ${wrong.join(', ')} is wrong`)];
  try {
    return await check.examine(patient);
  } catch (error) {
    return [fail(`could not be looked at (${reasonOf(error)})`, 'Mend what is named there, and repeat this.')];
  }
}

function masked({ verdict, found, fix }: Finding, mask: SecretMask): Finding {
  return { verdict, found: mask.mask(found), ...(fix ? { fix: fix.map((line) => mask.mask(line)) } : {}) };
}
