import { type Issue, MASKED, parseUrl, pointerOf, prefixIssues } from '#platform/kernel';

/** How an agent reaches an MCP server: exactly one of `warp_id`, `command` and `url`. As on the wire. */
export interface McpServerConfig {
  warp_id?: string;
  command?: string;
  args?: string[];
  url?: string;
  env?: Record<string, string>;
  headers?: Record<string, string>;
}

export type McpServers = Readonly<Record<string, McpServerConfig>>;

/** Where a secret value of a server stands, as a JSON pointer below the server: `/env/TOKEN`. */
type SecretPlace = string;

const SECRET_MAPS = ['env', 'headers'] as const;

export function mapSecrets(
  server: McpServerConfig,
  change: (value: string, place: SecretPlace) => string,
): McpServerConfig {
  const changed = { ...server };
  for (const map of SECRET_MAPS) {
    const values = server[map];
    if (values === undefined) continue;
    changed[map] = Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, change(value, pointerOf(map, key))]),
    );
  }
  return changed;
}

export const maskSecrets = (server: McpServerConfig): McpServerConfig => mapSecrets(server, () => MASKED);

export function secretsOf(server: McpServerConfig): Map<SecretPlace, string> {
  const found = new Map<SecretPlace, string>();
  mapSecrets(server, (value, place) => {
    found.set(place, value);
    return value;
  });
  return found;
}

export function mapServers(
  servers: McpServers,
  change: (server: McpServerConfig, name: string) => McpServerConfig,
): Record<string, McpServerConfig> {
  return Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, change(server, name)]));
}

/**
 * What of `stored` a request may keep without knowing it. Nothing, unless both are the same program or address and the
 * request says nothing in clear: another variable or header, such as `NODE_OPTIONS` or `Host`, decides just as much as the
 * address does who gets to see the kept ones. Leaving a value out is no way to choose a receiver.
 */
export function keptSecrets(stored: McpServerConfig, asked: McpServerConfig): Map<SecretPlace, string> {
  const target = ({ warp_id, command, args, url }: McpServerConfig): string =>
    JSON.stringify([warp_id, command, args ?? [], url]);
  const saysNothing = [...secretsOf(asked).values()].every((value) => value === MASKED);
  return saysNothing && target(stored) === target(asked) ? secretsOf(stored) : new Map<SecretPlace, string>();
}

/** What no single field can check, such as that each server has exactly one way to reach it. `at` is the pointer of the map. */
export function serverIssues(servers: McpServers | readonly McpServerConfig[], at: string): Issue[] {
  return Object.entries(servers).flatMap(([name, { warp_id, command, url }]) => {
    const pointer = at + pointerOf(name);
    if ([warp_id, command, url].filter((way) => way !== undefined).length !== 1)
      return [{ pointer, detail: 'must have exactly one of warp_id, command and url' }];
    return prefixIssues(pointer, urlIssues(url));
  });
}

/** A URL is shown as it is; and clients of ours could not connect, as `fetch` refuses it. */
function urlIssues(url: string | undefined): Issue[] {
  const parsed = parseUrl(url ?? '');
  if (parsed === null || (parsed.username === '' && parsed.password === '')) return [];
  return [{ pointer: '/url', detail: 'must not contain a user or password: send them in headers' }];
}

/** The uids of registered servers that these refer to, by the name that refers. */
export function registeredUids(servers: McpServers): Map<string, string> {
  return new Map(
    Object.entries(servers).flatMap(([name, { warp_id: uid }]) => (uid === undefined ? [] : [[name, uid] as const])),
  );
}

export interface ServerFields {
  readonly name: string;
  readonly description: string | null;
  /** Without `warp_id`; `env` and `headers` of stored ones are sealed. */
  readonly config: McpServerConfig;
}

/** An MCP server that a team has registered; runs and identities refer to it as `warp_id`. */
export interface RegisteredServer extends ServerFields {
  readonly uid: string;
  readonly teamUid: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Lists have all servers of a team. */
const MAX_CONFIG_BYTES = 65_536;

/** What a registered server may not say, whatever its fields are by themselves. Pointers into the request's body. */
export function registeredServerIssues(config: McpServerConfig): Issue[] {
  const { command, args, url, env, headers } = config;
  if (Buffer.byteLength(JSON.stringify(config)) > MAX_CONFIG_BYTES)
    return [{ pointer: '', detail: `must not exceed ${MAX_CONFIG_BYTES} bytes as JSON` }];
  if ((command === undefined) === (url === undefined))
    return [{ pointer: '', detail: 'must have exactly one of command and url' }];
  const foreign = command === undefined ? { args, env } : { headers };
  const way = command === undefined ? 'command' : 'url';
  const misplaced = Object.entries(foreign).flatMap(([field, value]) =>
    value === undefined ? [] : [{ pointer: `/${field}`, detail: `goes with ${way} only` }],
  );
  return [...misplaced, ...urlIssues(url)];
}
