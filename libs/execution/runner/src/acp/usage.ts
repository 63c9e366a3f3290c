import type { Usage } from '#execution/runner-protocol';
import { defined, fields, number, type Fields } from './fields.js';

export type TokenCounts = Pick<Usage, 'input_tokens' | 'output_tokens' | 'total_tokens'>;

const COUNTS = ['input_tokens', 'output_tokens', 'total_tokens'] as const;

/** From the field of the protocol, or from that of Gemini. */
export function tokensIn(response: Fields): TokenCounts {
  const usage = fields(response['usage']);
  const quota = fields(fields(fields(response['_meta'])['quota'])['token_count']);
  const input = number(usage['inputTokens']) ?? number(quota['input_tokens']);
  const output = number(usage['outputTokens']) ?? number(quota['output_tokens']);
  const sum = input === undefined && output === undefined ? undefined : (input ?? 0) + (output ?? 0);
  return defined<TokenCounts>({
    input_tokens: input,
    output_tokens: output,
    total_tokens: number(usage['totalTokens']) ?? number(quota['totalTokens']) ?? sum,
  });
}

/**
 * The tokens of one turn. Version 1 of the protocol says both "for this turn" and "across all turns" of the same numbers.
 * All standard harnesses count a turn (some only its last request), as the next version of the protocol does, and the
 * numbers alone cannot distinguish them. So they count for the turn, unless the harness is known to count its session.
 */
export class TurnTokens {
  /** Sums over the requests of the turn, for agents whose response to the prompt has no counts. */
  private requests: TokenCounts = {};
  private scope: 'turn' | 'session' = 'turn';
  /** Counts of the session before the current turn; null when it had turns that were not counted here. */
  private before: TokenCounts | null = {};

  startTurn(): void {
    this.requests = {};
  }

  /** Qwen reports the tokens of each model request beside an empty message chunk. */
  recordRequest(meta: Fields): void {
    const reported = tokensIn({ usage: meta['usage'] });
    this.requests = Object.fromEntries(
      COUNTS.flatMap((count) => {
        const sum = (this.requests[count] ?? 0) + (reported[count] ?? 0);
        return reported[count] === undefined && this.requests[count] === undefined ? [] : [[count, sum]];
      }),
    );
  }

  startSession(scope: 'turn' | 'session', resumed: boolean): void {
    this.scope = scope;
    this.before = resumed ? null : {};
  }

  /** Never negative. For a session with unknown counts the first response is only the base: nothing is counted twice. */
  ofTurn(reported: TokenCounts): TokenCounts {
    if (Object.keys(reported).length === 0) return this.requests;
    if (this.scope === 'turn') return reported;
    const { before } = this;
    this.before = { ...before, ...reported };
    if (before === null) return {};
    return Object.fromEntries(
      COUNTS.flatMap((count) => {
        const sum = reported[count];
        return sum === undefined ? [] : [[count, Math.max(0, sum - (before[count] ?? 0))]];
      }),
    );
  }
}

/**
 * Cost of a session in US dollars. Agents report the sum so far: of the session or, after it was loaded into another
 * process, of that process alone. Claude Code does either, depending on how its earlier process has ended. Costs that
 * cannot be attributed are counted at most once.
 */
export class SessionCost {
  private total: number | undefined;
  private counted: number | undefined;
  private resumed = false;
  private earlier: number | undefined;

  /** `earlier`: cost of the turns before, where it is known of a resumed session. */
  startSession(resumed: boolean, earlier?: number): void {
    this.resumed = resumed;
    this.earlier = earlier;
  }

  replayed(total: number): void {
    this.total = total;
    this.counted = total;
  }

  note(total: number): void {
    this.total = total;
  }

  /** The cost that was not counted yet; undefined when the agent reports none. */
  growth(): number | undefined {
    if (this.total === undefined) return undefined;
    const counted = this.counted ?? this.beginning(this.total);
    this.counted = Math.max(this.total, counted);
    return Math.max(0, this.total - counted);
  }

  /** The sum to count from, when `first` is the first reported sum. */
  private beginning(first: number): number {
    if (!this.resumed) return 0;
    if (this.earlier === undefined) return first;
    return first >= this.earlier ? this.earlier : 0;
  }
}
