import type { DoctorContext } from './doctor-context.js';

/** `skip`: not looked at, because of another finding or because there is nothing to checkDatabase at now. */
export type Verdict = 'ok' | 'warn' | 'fail' | 'skip';

export interface CheckResult {
  readonly verdict: Verdict;
  /** One line: what was found. Never a secret. */
  readonly found: string;
  /** What to do about it: commands or sentences, each a line. There for `warn` and `fail`. */
  readonly fix?: readonly string[];
}

/** A finding with the name of its check. */
export interface NamedCheckResult extends CheckResult {
  readonly check: string;
}

export const ok = (found: string): CheckResult => ({ verdict: 'ok', found });
export const skip = (found: string): CheckResult => ({ verdict: 'skip', found });
export const warn = (found: string, ...fix: string[]): CheckResult => ({ verdict: 'warn', found, fix });
export const fail = (found: string, ...fix: string[]): CheckResult => ({ verdict: 'fail', found, fix });

/** One thing that is looked at. Reads; what it writes to try something out it removes again. */
export interface DoctorCheck {
  /** As shown, such as `database`. */
  readonly name: string;
  /** Settings that it relies on: when one of them is wrong, it is skipped. */
  readonly uses: readonly string[];
  /** What it rejects with is told as a failure. It is left alone once its time is up. */
  examine(context: DoctorContext): Promise<readonly CheckResult[]>;
}

/** Why something failed, in a few words: the code of the system where there is one, else the first line of the message. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  const [line = ''] = error.message.split('\n');
  if (typeof code === 'string' && /^(E[A-Z]+|EAI_AGAIN)$/.test(code)) return code;
  return line.trim() === '' ? error.name : line.trim().replace(/\.$/, '');
}
