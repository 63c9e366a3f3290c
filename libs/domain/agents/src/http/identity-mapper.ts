import { workerHostFault } from '#execution/worker-protocol';
import { invalidInput } from '#platform/http';
import { MASKED } from '#platform/kernel';
import type { IdentityChanges, StoredIdentity } from '../domain/agent-identity.js';
import { mapSecrets, mapServers, type McpServers, type RegisteredServer } from '../domain/mcp-server.js';
import type { IdentityInput, IdentityItem } from './identity.dto.js';
import type { McpServerItem } from './mcp-server.dto.js';

/** All MCP servers of one identity as JSON: a list of identities shows every identity's. */
const MAX_SERVERS_BYTES = 65_536;

/** What a request changes. Absent and null keep, empty clears. */
export function toIdentityChanges(body: IdentityInput & { readonly name?: string | null }): IdentityChanges {
  const { name, description, prompt, environment_id, default_runner_uid, worker_host, base_model } = body;
  return {
    ...set('name', name),
    ...set('description', orNull(description)),
    ...set('prompt', orNull(prompt)),
    ...set('available', body.available),
    ...set('environmentId', orNull(environment_id)),
    ...set('defaultRunnerUid', default_runner_uid),
    ...set('workerHost', hostOf(worker_host)),
    ...set('baseModel', orNull(base_model)),
    ...set('harness', filled(plain(body.harness))),
    ...set('skills', body.skills),
    ...set('mcpServers', serversOf(body)),
    ...set(
      'secrets',
      body.secrets?.map((secret) => secret.name),
    ),
    ...(body.memory && { autoMemory: body.memory.auto_memory?.enabled ?? false }),
  };
}

/** `undefined` and `null` from a request leave the key out; the empty value has become {@link CLEARED} by then. */
function set<K extends keyof IdentityChanges>(
  key: K,
  value: IdentityChanges[K] | typeof CLEARED | null | undefined,
): IdentityChanges {
  if (value === undefined || value === null) return {};
  return { [key]: value === CLEARED ? null : value };
}

const CLEARED = Symbol('cleared');

const orNull = (value: string | null | undefined): string | typeof CLEARED | null | undefined =>
  value === '' ? CLEARED : value;

function hostOf(host: string | null | undefined): string | typeof CLEARED | null | undefined {
  const fault = host ? workerHostFault(host) : null;
  if (fault !== null) throw invalidInput([{ pointer: '/worker_host', detail: fault }]);
  return orNull(host);
}

const filled = <T extends object>(value: T | null | undefined): T | typeof CLEARED | null | undefined =>
  value && Object.keys(value).length === 0 ? CLEARED : value;

function serversOf({ mcp_servers }: IdentityInput): McpServers | typeof CLEARED | null | undefined {
  const servers = plain(mcp_servers);
  if (servers && Buffer.byteLength(JSON.stringify(servers)) > MAX_SERVERS_BYTES)
    throw invalidInput([{ pointer: '/mcp_servers', detail: `must not exceed ${MAX_SERVERS_BYTES} bytes as JSON` }]);
  return filled(servers);
}

/** Without unset properties: the DTO's prototype has no business in the store. */
const plain = <T>(value: T): T => (value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T));

/** Names stay, values go. */
const masked = () => MASKED;

export function presentIdentity(identity: StoredIdentity): IdentityItem {
  const { description, prompt, environmentId, workerHost, baseModel, harness, mcpServers } = identity;
  return {
    uid: identity.uid,
    name: identity.name,
    ...(description !== null && { description }),
    ...(prompt !== null && { prompt }),
    available: identity.available,
    created_at: identity.createdAt.toISOString(),
    updated_at: identity.updatedAt.toISOString(),
    ...(environmentId !== null && { environment_id: environmentId }),
    default_runner_uid: identity.defaultRunnerUid,
    ...(workerHost !== null && { worker_host: workerHost }),
    ...(baseModel !== null && { base_model: baseModel }),
    ...(harness !== null && { harness }),
    skills: [...identity.skills],
    secrets: identity.secrets.map((name) => ({ name })),
    ...(mcpServers !== null && { mcp_servers: mapServers(mcpServers, (server) => mapSecrets(server, masked)) }),
    memory: { auto_memory: { enabled: identity.autoMemory }, attached_stores: [] },
    ...(identity.factoryUid !== null && { factory_uid: identity.factoryUid }),
  };
}

export function presentServer({
  uid,
  name,
  description,
  config,
  createdAt,
  updatedAt,
}: RegisteredServer): McpServerItem {
  const { command, args, url, env, headers } = mapSecrets(config, masked);
  return {
    uid,
    name,
    ...(description !== null && { description }),
    ...(command !== undefined && { command }),
    ...(args !== undefined && { args }),
    ...(url !== undefined && { url }),
    ...(env !== undefined && { env }),
    ...(headers !== undefined && { headers }),
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
}
