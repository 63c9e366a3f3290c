import type { AgentConfig, RunUsage, StatusMessage } from './run.js';

/** What a run may use up, over all its executions, by the names of its configuration; absent or null: no end. */
export interface RunLimits {
  readonly max_runtime_minutes?: number | null;
  readonly max_cost_usd?: number | null;
  readonly max_tokens?: number | null;
}

/** What it has used up. `workedMs`: how long its agents have worked, without the time that they waited for a person. */
export interface Spent {
  readonly workedMs: number;
  readonly usage: RunUsage | null;
}

export const hasLimits = ({ max_runtime_minutes, max_cost_usd, max_tokens }: AgentConfig): boolean =>
  typeof (max_runtime_minutes ?? max_cost_usd ?? max_tokens) === 'number';

/** Undefined while no agent has reported tokens. */
export function tokensOf(usage: RunUsage | null): number | undefined {
  const { total_tokens: total, input_tokens: input, output_tokens: output } = usage ?? {};
  return total ?? (input === undefined && output === undefined ? undefined : (input ?? 0) + (output ?? 0));
}

/** The first ceiling that is reached, in a sentence with its name and the figures; null: none is. */
export function reachedLimit(limits: RunLimits, { workedMs, usage }: Spent): string | null {
  const { max_runtime_minutes: minutes, max_cost_usd: cost, max_tokens: tokens } = limits;
  if (typeof minutes === 'number' && workedMs >= minutes * 60_000)
    return `The run reached its limit max_runtime_minutes: its agent worked for ${rounded(workedMs / 60_000, 1)} of ${minutes} minutes.`;
  const usedCost = usage?.cost_usd;
  if (typeof cost === 'number' && isReached(usedCost, cost))
    return `The run reached its limit max_cost_usd: its agent used ${rounded(usedCost, 4)} of ${cost} US dollars.`;
  const usedTokens = tokensOf(usage);
  if (typeof tokens === 'number' && isReached(usedTokens, tokens))
    return `The run reached its limit max_tokens: its agent used ${usedTokens} of ${tokens} tokens.`;
  return null;
}

export const limitStatus = (message: string): StatusMessage => ({
  message,
  error_code: 'budget_exceeded',
  retryable: false,
});

/** A ceiling of nothing is reached by the first that is used. */
const isReached = (used: number | undefined, ceiling: number): used is number =>
  used !== undefined && used > 0 && used >= ceiling;

function rounded(value: number, digits: number): number {
  const factor = 10 ** digits;
  return Math.round(value * factor) / factor;
}
