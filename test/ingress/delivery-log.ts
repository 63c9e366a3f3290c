import { expect, vi } from 'vitest';
import type { TestDatabase } from '#testing';

export interface LoggedDelivery {
  id: string;
  outcome: string;
  identity_kind: string | null;
  identity: string | null;
  duplicate_of: string | null;
  occurrences: number;
  size_bytes: number;
  source_ip: string;
  headers: Record<string, string> | null;
  body: Buffer | null;
}

/** What the log has of a webhook, oldest first. */
export function loggedDeliveries(database: TestDatabase, webhookId: string): Promise<LoggedDelivery[]> {
  return database.query<LoggedDelivery>('SELECT * FROM headrace.webhook_deliveries WHERE webhook_id = $1 ORDER BY id', [
    webhookId,
  ]);
}

/** Rejections are written a moment after they were answered. */
export async function untilLogged(
  database: TestDatabase,
  webhookId: string,
  outcomes: string,
): Promise<LoggedDelivery[]> {
  let rows: LoggedDelivery[] = [];
  await vi.waitFor(
    async () => {
      rows = await loggedDeliveries(database, webhookId);
      expect(rows.map(({ outcome, occurrences }) => outcome.repeat(occurrences)).join('')).toBe(outcomes);
    },
    { timeout: 5_000, interval: 20 },
  );
  return rows;
}
