import { userInfo } from 'node:os';
import type { INestApplicationContext } from '@nestjs/common';
import { type AuditEvent, AuditLog } from '#platform/audit';

/**
 * The entry of a command that has changed the database, with the account of the operating system. As for operations of the API,
 * it follows the change. `teamUid` null: of the installation.
 */
export async function recordCommand(
  services: INestApplicationContext,
  teamUid: string | null,
  event: Pick<AuditEvent, 'action' | 'target' | 'details'>,
): Promise<void> {
  const actor = { type: 'command_line' as const, name: userInfo().username };
  await services.get(AuditLog).append(teamUid, { ...event, actor });
}
