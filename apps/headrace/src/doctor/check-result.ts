import type { DoctorContext } from './doctor-context.js';

/** `skip`: not checked, because of another result or because there is nothing to check now. */
export type Verdict = 'ok' | 'warn' | 'fail' | 'skip';

export interface CheckResult {
  readonly verdict: Verdict;
  /** One line without secrets. */
  readonly found: string;
  /** How to fix it: commands or sentences, one per line. Present for `warn` and `fail`. */
  readonly fix?: readonly string[];
}

export interface NamedCheckResult extends CheckResult {
  readonly check: string;
}

export const ok = (found: string): CheckResult => ({ verdict: 'ok', found });
export const skip = (found: string): CheckResult => ({ verdict: 'skip', found });
export const warn = (found: string, ...fix: string[]): CheckResult => ({ verdict: 'warn', found, fix });
export const fail = (found: string, ...fix: string[]): CheckResult => ({ verdict: 'fail', found, fix });

/** One check. It only reads, or removes what it writes for a test. */
export interface DoctorCheck {
  readonly name: string;
  /** Settings that it needs; it is skipped when one of them is invalid. */
  readonly uses: readonly string[];
  /** A rejection is reported as a failure. The check is abandoned after the timeout. */
  examine(context: DoctorContext): CheckResult | readonly CheckResult[] | Promise<CheckResult | readonly CheckResult[]>;
}

/** The reason of a failure in a few words: the error code of the system, else the first line of the message. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  const [line = ''] = error.message.split('\n');
  if (typeof code === 'string' && /^(E[A-Z]+|EAI_AGAIN)$/.test(code)) return code;
  return line.trim() === '' ? error.name : line.trim().replace(/\.$/, '');
}

export type Version = readonly [major: number, minor: number];

/** Whether a version, such as `20.19.0`, is at least `oldest`. */
export function isAtLeast(version: string, oldest: Version): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > oldest[0] || (major === oldest[0] && minor >= oldest[1]);
}
