import { CommandError, filled } from '../cli/command.js';
import { printable } from '../cli/output.js';
import { type ApiClient, ApiError, type Page } from './api-client.js';

export interface RemoteFactory {
  readonly uid: string;
  readonly name: string;
  readonly alias?: string;
}

type FactoryPage = Page & { readonly factories: readonly RemoteFactory[] };

const UID = /^[A-Za-z0-9]{22}$/;
const MANY = 20;

export async function findFactory(api: ApiClient, wanted: string | undefined): Promise<RemoteFactory> {
  if (wanted === undefined) return theOnly(await api.get<FactoryPage>(`/factory?limit=${MANY}`));
  // An empty value is an unset variable of a script.
  filled('--factory', wanted);
  const found = (UID.test(wanted) ? await byUid(api, wanted) : null) ?? (await byAlias(api, wanted));
  if (!found) throw new CommandError(`factory ${wanted} not found or not accessible.`);
  return found;
}

async function byUid(api: ApiClient, uid: string): Promise<RemoteFactory | null> {
  try {
    return await api.get<RemoteFactory>(`/factory/${uid}`);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** Aliases are unique in a team only; a member of several teams may see the same alias twice. */
async function byAlias(api: ApiClient, alias: string): Promise<RemoteFactory | null> {
  const found: RemoteFactory[] = [];
  for await (const { factories } of api.pages<FactoryPage>('/factory', { query: alias, limit: '500' }))
    found.push(...factories.filter((factory) => factory.alias === alias));
  if (found.length > 1) throw new CommandError(`alias ${alias} is ambiguous; use a uid: ${known(found)}.`);
  return found[0] ?? null;
}

function theOnly({ factories, page_info: { next_cursor: more } }: FactoryPage): RemoteFactory {
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
