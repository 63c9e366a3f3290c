import { CommandError, required } from '../cli/command.js';
import { printable } from '../cli/output.js';
import { type ApiClient, ApiError } from './api-client.js';

export interface RemoteFactory {
  readonly uid: string;
  readonly name: string;
  readonly alias?: string;
}

interface Page {
  readonly factories: readonly RemoteFactory[];
  readonly page_info: { readonly next_cursor?: string };
}

const UID = /^[A-Za-z0-9]{22}$/;
const MANY = 20;

/** The factory with this uid or alias; by default the only factory that the user can access. */
export async function findFactory(api: ApiClient, wanted: string | undefined): Promise<RemoteFactory> {
  if (wanted === undefined) return theOnly(await list(api, { limit: String(MANY) }));
  // An empty value is an unset variable of a script.
  required('factory', wanted);
  const found = (UID.test(wanted) ? await byUid(api, wanted) : null) ?? (await byAlias(api, wanted));
  if (!found) throw new CommandError(`factory ${wanted} not found or not accessible.`);
  return found;
}

async function byUid(api: ApiClient, uid: string): Promise<RemoteFactory | null> {
  try {
    return await api.request<RemoteFactory>('GET', `/factory/${uid}`);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** Aliases are unique in a team only; a member of several teams may see the same alias twice. */
async function byAlias(api: ApiClient, alias: string): Promise<RemoteFactory | null> {
  const found: RemoteFactory[] = [];
  let cursor: string | undefined;
  do {
    const query: Record<string, string> = { query: alias, limit: '500', ...(cursor !== undefined && { cursor }) };
    const page = await list(api, query);
    found.push(...page.factories.filter((factory) => factory.alias === alias));
    cursor = page.page_info.next_cursor;
  } while (cursor !== undefined);
  if (found.length > 1) throw new CommandError(`alias ${alias} is ambiguous; use a uid: ${known(found)}.`);
  return found[0] ?? null;
}

function theOnly({ factories, page_info: { next_cursor: more } }: Page): RemoteFactory {
  const [only, ...others] = factories;
  if (!only) throw new CommandError('no factory is accessible; create one with `headrace factory create`.');
  if (others.length === 0) return only;
  const rest = more === undefined ? '' : ', …';
  throw new CommandError(`several factories are accessible, select one with --factory: ${known(factories)}${rest}.`);
}

const known = (factories: readonly RemoteFactory[]): string =>
  factories
    .map(({ uid, name, alias }) => `${uid} (${printable(alias === undefined ? name : `${name}, ${alias}`)})`)
    .join(', ');

const list = (api: ApiClient, query: Record<string, string>): Promise<Page> =>
  api.request<Page>('GET', `/factory?${new URLSearchParams(query).toString()}`);
