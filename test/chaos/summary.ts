import type { Findings, RunFacts } from './checks.js';
import type { Remaining } from './drain.js';
import type { Kills } from './kills.js';
import type { Ledger } from './ledger.js';
import type { LogWatch } from './log-watch.js';
import type { ChaosOptions, InstallationKind } from './options.js';
import type { UnexplainedExit } from './supervised-process.js';

export interface ChaosResult {
  /** One line of JSON. */
  readonly summary: string;
  /** What must not be; empty when the test has passed. */
  readonly problems: readonly string[];
}

interface Observed {
  readonly kind: InstallationKind;
  readonly options: ChaosOptions;
  readonly kills: Kills;
  readonly ledger: Ledger;
  readonly log: LogWatch;
  readonly runs: readonly RunFacts[];
  readonly findings: Findings;
  /** What the checks did not find although it was made up for them. */
  readonly undetected: readonly string[];
  readonly remaining: Remaining;
  readonly leftovers: readonly string[];
  readonly exits: readonly UnexplainedExit[];
  readonly seconds: Readonly<Record<string, number>>;
  readonly exitCodes: readonly (number | string | null)[];
}

export function resultOf(observed: Observed): ChaosResult {
  const { kind, options, kills, ledger, log, runs, findings, remaining, leftovers, exits, exitCodes, seconds } =
    observed;
  const stuck = Object.entries(remaining).flatMap(([what, count]) => (count === 0 ? [] : [`${what}: ${count}`]));
  const badExitCodes = exitCodes.filter((code) => code !== 0).map((code) => `a stopped server ended with ${code}`);
  const problems = {
    lost: findings.lost,
    doubled: findings.doubled,
    stuck,
    wrong_ends: findings.wrongEnds,
    undetected: observed.undetected,
    wrong_answers: ledger.wrongAnswers,
    leftovers,
    unexplained_errors: log.unexplained.map(({ source, line }) => `${source}: ${line}`),
    unexplained_exits: [
      ...exits.map(({ name, how, output }) => `${name}: ${how}\n${output.join('\n')}`),
      ...badExitCodes,
    ],
  };
  const counts = Object.fromEntries(Object.entries(problems).map(([name, list]) => [name, list.length]));
  const summary = {
    installation: kind,
    minutes: options.durationMs / 60_000,
    seed: options.seed,
    seconds,
    kills: { total: kills.total, ...kills.counts },
    runs: runs.reduce<Record<string, number>>((sums, { state }) => ({ ...sums, [state]: (sums[state] ?? 0) + 1 }), {}),
    deliveries: ledger.deliveries.length,
    followups: ledger.followups.filter(({ accepted }) => accepted).length,
    cancels: ledger.cancelled.size,
    answers: ledger.answers,
    log: { errors: log.errors, warnings: log.warnings },
    ...counts,
  };
  return {
    summary: JSON.stringify(summary),
    problems: Object.entries(problems).flatMap(([name, list]) => list.map((problem) => `${name}: ${problem}`)),
  };
}
