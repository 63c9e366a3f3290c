import { toStorableJson } from '#platform/kernel';
import type { AutomationResult } from '../domain/delivery.js';

export interface StoredResult {
  automation_uid: string;
  matched: boolean;
  run_id?: string;
  reason: string;
}

/** As JSON that PostgreSQL takes: reasons quote payloads, which may hold NUL or half a character. */
export function writeResults(results: readonly AutomationResult[]): string {
  const stored = results.map(({ automationUid, matched, runId, reason }): StoredResult => ({
    automation_uid: automationUid,
    matched,
    ...(runId !== undefined && { run_id: runId }),
    reason,
  }));
  return JSON.stringify(toStorableJson(stored).value);
}

export const readResults = (stored: readonly StoredResult[]): AutomationResult[] =>
  stored.map(({ automation_uid: automationUid, matched, run_id: runId, reason }) => ({
    automationUid,
    matched,
    ...(runId !== undefined && { runId }),
    reason,
  }));
