import { within } from '#platform/kernel';
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
import type { DoctorContext } from './doctor-context.js';
import type { SecretMask } from './secret-mask.js';

const LIMIT_MS = 15_000;

/** Runs all checks concurrently, each for at most `limitMs`. Results are in the order of the checks. */
export async function runChecks(
  checks: readonly DoctorCheck[],
  context: DoctorContext,
  mask: SecretMask,
  limitMs: number = LIMIT_MS,
): Promise<NamedCheckResult[]> {
  const results = await Promise.all(
    checks.map(async (check) => {
      const found = await within(limitMs, examine(check, context), () => [
        fail(
          `took longer than ${limitMs / 1000} s`,
          'Find the cause: a disk, a name service or a firewall that drops packets.',
        ),
      ]);
      return found.map((result) => ({ check: check.name, ...masked(result, mask) }));
    }),
  );
  return results.flat();
}

async function examine(check: DoctorCheck, context: DoctorContext): Promise<readonly CheckResult[]> {
  const wrong = check.uses.filter((setting) => context.isInvalid(setting));
  if (wrong.length > 0) return [skip(`not checked: ${wrong.join(', ')} is invalid`)];
  try {
    return await check.examine(context);
  } catch (error) {
    return [fail(`the check failed (${reasonOf(error)})`, 'Fix the cause and run the doctor again.')];
  }
}

function masked({ verdict, found, fix }: CheckResult, mask: SecretMask): CheckResult {
  return { verdict, found: mask.mask(found), ...(fix ? { fix: fix.map((line) => mask.mask(line)) } : {}) };
}

/** A table of the results, followed by the fixes. */
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
  if (count('fail') > 0) return `${count('fail')} failed, ${count('warn')} warnings.`;
  return count('warn') > 0 ? `Nothing failed, ${count('warn')} warnings.` : 'Nothing failed.';
}

/** For programs: `ok` is false when something failed. */
export function resultsAsJson(results: readonly NamedCheckResult[]): string {
  return JSON.stringify({ ok: isHealthy(results), checks: results }, null, 2);
}

export const isHealthy = (results: readonly NamedCheckResult[]): boolean =>
  results.every(({ verdict }) => verdict !== 'fail');
