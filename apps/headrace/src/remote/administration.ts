import { CommandError } from '../cli/command.js';
import type { ApiClient, Page } from './api-client.js';

const PAGE = '500';

/** A path to one resource: what was typed cannot name another one. */
export const pathTo = (collection: string, uid: string): string => `/${collection}/${encodeURIComponent(uid)}`;

/** All pages of a list; `name` is the field that contains the items. */
export async function allOf<Item>(
  api: ApiClient,
  path: string,
  name: string,
  query: Readonly<Record<string, string>> = {},
  team?: string,
): Promise<Item[]> {
  const items: Item[] = [];
  for await (const page of api.pages<Page>(path, { ...query, limit: PAGE }, team))
    items.push(...((page as unknown as Readonly<Record<string, readonly Item[]>>)[name] ?? []));
  return items;
}

interface RemotePerson {
  readonly uid: string;
  readonly email?: string;
  readonly is_email_verified?: boolean;
}

/** Users are addressed by UID or e-mail address. Only administrators of the installation find the address of another user. */
export async function findUser(api: ApiClient, wanted: string): Promise<string> {
  if (!wanted.includes('@')) return wanted;
  const isWanted = ({ email }: RemotePerson): boolean => email?.toLowerCase() === wanted.toLowerCase();
  const self = await api.get<RemotePerson>('/me');
  if (isWanted(self)) return self.uid;
  const found = (await allOf<RemotePerson>(api, '/users', 'users', { query: wanted })).find(isWanted);
  if (!found) throw new CommandError(`user ${wanted} not found; \`headrace user list\` shows the users.`);
  if (found.is_email_verified === false)
    throw new CommandError(
      `the address ${wanted} is not verified: another person may have accepted the invitation to it. To address this user all the same, use the UID ${found.uid}.`,
    );
  return found.uid;
}
