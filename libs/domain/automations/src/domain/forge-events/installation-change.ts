import { valueAt } from '../placeholders.js';
import { textAt } from './payload-fields.js';

/** Of the account on which a GitHub App is installed. */
export interface InstallationChange {
  readonly appId: number;
  readonly owner: string;
}

/** Both, with every action: created, deleted, suspend, unsuspend, new_permissions_accepted; added and removed repositories. */
const KINDS: ReadonlySet<string> = new Set(['installation', 'installation_repositories']);
const MAX_LOGIN = 100;

/** Null: the delivery is about something else. The payload of other kinds is not read. */
export function readInstallationChange(kind: string, readPayload: () => unknown): InstallationChange | null {
  if (!KINDS.has(kind)) return null;
  const payload = readPayload();
  const appId = valueAt(payload, ['installation', 'app_id']);
  const owner = textAt(payload, 'installation', 'account', 'login');
  if (!Number.isSafeInteger(appId) || owner === null || owner.length > MAX_LOGIN) return null;
  return { appId: appId as number, owner };
}
