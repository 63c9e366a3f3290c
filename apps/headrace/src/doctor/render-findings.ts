import { printable } from '../cli/printable.js';
import { renderTable } from '../cli/table.js';
import type { NamedFinding, Verdict } from './finding.js';

/** A table of what was found, and below it what to do. */
export function renderFindings(findings: readonly NamedFinding[]): string {
  const rows = findings.map(({ check, verdict, found }) => [check, verdict, found]);
  const mending = findings.flatMap(({ check, verdict, fix = [] }) =>
    fix.length === 0 ? [] : [`  ${check} (${verdict})`, ...fix.map((line) => `    ${printable(line)}`)],
  );
  return [
    renderTable(['CHECK', 'VERDICT', 'FOUND'], rows),
    ...(mending.length > 0 ? ['', 'To mend it:', ...mending] : []),
    '',
    summary(findings),
  ].join('\n');
}

function summary(findings: readonly NamedFinding[]): string {
  const count = (verdict: Verdict): number => findings.filter((finding) => finding.verdict === verdict).length;
  if (count('fail') > 0) return `${count('fail')} failed, ${count('warn')} to be looked at.`;
  return count('warn') > 0 ? `Nothing failed, ${count('warn')} to be looked at.` : 'Nothing failed.';
}

/** For programs: `ok` is false when something failed. */
export function findingsAsJson(findings: readonly NamedFinding[]): string {
  return JSON.stringify({ ok: isHealthy(findings), checks: findings }, null, 2);
}

export const isHealthy = (findings: readonly NamedFinding[]): boolean =>
  findings.every(({ verdict }) => verdict !== 'fail');
