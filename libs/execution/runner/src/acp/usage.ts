import type { Usage } from '#execution/runner-protocol';
import { defined, fields, number, type Fields } from './fields.js';

/** Counts of tokens as an answer to a prompt has them. */
export type TokenCounts = Pick<Usage, 'input_tokens' | 'output_tokens' | 'total_tokens'>;

const COUNTS = ['input_tokens', 'output_tokens', 'total_tokens'] as const;

/** From the protocol's own field, or where Gemini says it. */
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
 * All agents of our table count a turn (some only its last request), the next version says a turn, and numbers alone cannot
 * tell: a turn's context grows like a sum does. So a turn it is, unless the harness is known to count its session.
 */
export class TurnTokens {
  /** What single requests of the turn have told, where the answer to the prompt tells nothing. */
  private requests: TokenCounts = {};
  private scope: 'turn' | 'session' = 'turn';
  /** Of the session before the turn at hand; null when it had turns that nobody has counted here. */
  private before: TokenCounts | null = {};

  startTurn(): void {
    this.requests = {};
  }

  /** Qwen tells the tokens of each request to its model beside an empty piece of a message. */
  recordRequest(meta: Fields): void {
    const told = tokensIn({ usage: meta['usage'] });
    this.requests = Object.fromEntries(
      COUNTS.flatMap((count) => {
        const sum = (this.requests[count] ?? 0) + (told[count] ?? 0);
        return told[count] === undefined && this.requests[count] === undefined ? [] : [[count, sum]];
      }),
    );
  }

  startSession(scope: 'turn' | 'session', resumed: boolean): void {
    this.scope = scope;
    this.before = resumed ? null : {};
  }

  /** Never negative. Of a session of unknown size the first answer only says from where to count: nothing counts twice. */
  ofTurn(told: TokenCounts): TokenCounts {
    if (Object.keys(told).length === 0) return this.requests;
    if (this.scope === 'turn') return told;
    const { before } = this;
    this.before = { ...before, ...told };
    if (before === null) return {};
    return Object.fromEntries(
      COUNTS.flatMap((count) => {
        const sum = told[count];
        return sum === undefined ? [] : [[count, Math.max(0, sum - (before[count] ?? 0))]];
      }),
    );
  }
}

/**
 * What a session costs, in US dollars, of which agents tell the sum so far. A sum is about the session or, after it was
 * loaded into another process, about that process alone: Claude Code does the one or the other, as its process before has
 * ended. Whatever is in doubt counts once at most.
 */
export class SessionCost {
  private total: number | undefined;
  private counted: number | undefined;
  private resumed = false;
  private earlier: number | undefined;

  /** `earlier`: what the turns before have come to, where that is known of a session that was resumed. */
  startSession(resumed: boolean, earlier?: number): void {
    this.resumed = resumed;
    this.earlier = earlier;
  }

  /** A replay tells what is known already. */
  replayed(total: number): void {
    this.total = total;
    this.counted = total;
  }

  note(total: number): void {
    this.total = total;
  }

  /** What has not been counted yet; undefined when the agent tells no cost. */
  growth(): number | undefined {
    if (this.total === undefined) return undefined;
    const counted = this.counted ?? this.beginning(this.total);
    this.counted = Math.max(this.total, counted);
    return Math.max(0, this.total - counted);
  }

  /** Where to count from when `first` is the first sum that is told. */
  private beginning(first: number): number {
    if (!this.resumed) return 0;
    if (this.earlier === undefined) return first;
    return first >= this.earlier ? this.earlier : 0;
  }
}
