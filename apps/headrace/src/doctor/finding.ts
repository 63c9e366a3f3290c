/** `skip`: not looked at, because of another finding or because there is nothing to look at now. */
export type Verdict = 'ok' | 'warn' | 'fail' | 'skip';

export interface Finding {
  readonly verdict: Verdict;
  /** One line: what was found. Never a secret. */
  readonly found: string;
  /** What to do about it: commands or sentences, each a line. There for `warn` and `fail`. */
  readonly fix?: readonly string[];
}

/** A finding with the name of its check. */
export interface NamedFinding extends Finding {
  readonly check: string;
}

export const ok = (found: string): Finding => ({ verdict: 'ok', found });
export const skip = (found: string): Finding => ({ verdict: 'skip', found });
export const warn = (found: string, ...fix: string[]): Finding => ({ verdict: 'warn', found, fix });
export const fail = (found: string, ...fix: string[]): Finding => ({ verdict: 'fail', found, fix });
