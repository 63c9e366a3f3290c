import { nearMisses } from '#platform/kernel';
import { printable } from '../diagnostics.js';
import { spoken } from './pointer.js';
import type { SchemaFault } from './schema-fault.js';

const SECRETIVE = /secret|token|passw|api_?-?key|credential/i;
const REGISTER = 'register the server for the team with POST /mcp-servers, and give its UID as warp_id';

/** A key that is not known where it stands: what was meant by it, if that can be guessed. */
export function aboutUnknownKey(path: readonly string[], key: string, parentSchema: unknown): SchemaFault {
  const { code, message } = guess(path, key, Object.keys(propertiesOf(parentSchema)));
  return { code, path: [...path, key], side: 'key', message };
}

function guess(path: readonly string[], key: string, known: readonly string[]): { code: string; message: string } {
  const shown = printable(key);
  if (path.at(-2) === 'mcpServers') {
    if (key === 'env' || key === 'headers')
      return { code: 'secret_in_file', message: `Files never hold secrets, as ${shown} would: ${REGISTER}.` };
    return {
      code: 'unknown_key',
      message: `Only registered servers can be named here, without ${shown}: ${REGISTER}.`,
    };
  }
  const near = nearMisses(key, known);
  if (
    path.length === 0 &&
    known.includes('secretName') &&
    SECRETIVE.test(key) &&
    !near.some((name) => differsInCase(name, key))
  )
    return {
      code: 'secret_in_file',
      message: `Files never hold secrets, as ${shown} would: put it into a managed secret of the team, and its name here as secretName.`,
    };
  const place = path.length === 0 ? '' : ` in ${spoken(path)}`;
  const hint = near.length === 0 ? knownKeys(known) : ` Did you mean ${near.join(' or ')}?`;
  return { code: 'unknown_key', message: `${shown} is not known${place === '' ? ' here' : place}.${hint}` };
}

const differsInCase = (one: string, other: string): boolean =>
  one.toLowerCase() === other.toLowerCase().replaceAll(/[_-]/g, '');

const knownKeys = (known: readonly string[]): string => (known.length === 0 ? '' : ` Known are ${known.join(', ')}.`);

const propertiesOf = (schema: unknown): object =>
  (schema as { readonly properties?: object } | undefined)?.properties ?? {};
