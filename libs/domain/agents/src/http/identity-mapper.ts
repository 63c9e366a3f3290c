import { workerHostFault } from '#execution/worker-protocol';
import { invalidInput } from '#platform/http';
import type { AgentIdentity, IdentityChanges } from '../domain/agent-identity.js';
import { mapServers, maskSecrets } from '../domain/mcp-server.js';
import type { IdentityInput, IdentityItem } from './identity.dto.js';

/** All MCP servers of one identity as JSON: a list of identities shows every identity's. */
const MAX_SERVERS_BYTES = 65_536;

/** What a request changes. Absent and null keep, empty clears. */
export function toIdentityChanges(body: IdentityInput & { readonly name?: string | null }): IdentityChanges {
  const fault = body.worker_host ? workerHostFault(body.worker_host) : null;
  if (fault !== null) throw invalidInput([{ pointer: '/worker_host', detail: fault }]);
  const { mcp_servers: servers, memory } = body;
  if (servers && Buffer.byteLength(JSON.stringify(servers)) > MAX_SERVERS_BYTES)
    throw invalidInput([{ pointer: '/mcp_servers', detail: `must not exceed ${MAX_SERVERS_BYTES} bytes as JSON` }]);
  const changes: { [Key in keyof IdentityChanges]: unknown } = {
    name: body.name ?? undefined,
    description: nullIfEmpty(body.description),
    prompt: nullIfEmpty(body.prompt),
    available: body.available ?? undefined,
    environmentId: nullIfEmpty(body.environment_id),
    defaultRunnerUid: body.default_runner_uid ?? undefined,
    workerHost: nullIfEmpty(body.worker_host),
    baseModel: nullIfEmpty(body.base_model),
    harness: nullIfEmpty(body.harness),
    skills: body.skills ?? undefined,
    mcpServers: nullIfEmpty(servers),
    secrets: body.secrets?.map(({ name }) => name),
    autoMemory: memory ? (memory.auto_memory?.enabled ?? false) : undefined,
  };
  // JSON has neither the unset fields, which keep their values, nor the prototypes of DTOs.
  return JSON.parse(JSON.stringify(changes)) as IdentityChanges;
}

function nullIfEmpty(value: string | object | null | undefined): unknown {
  const plain: unknown = JSON.parse(JSON.stringify(value ?? null));
  if (plain === '' || (typeof plain === 'object' && plain !== null && Object.keys(plain).length === 0)) return null;
  return plain ?? undefined;
}

export function presentIdentity(identity: AgentIdentity): IdentityItem {
  const { uid, name, available, skills, harness, mcpServers } = identity;
  return {
    uid,
    name,
    description: identity.description ?? undefined,
    prompt: identity.prompt ?? undefined,
    available,
    created_at: identity.createdAt.toISOString(),
    updated_at: identity.updatedAt.toISOString(),
    environment_id: identity.environmentId ?? undefined,
    default_runner_uid: identity.defaultRunnerUid,
    worker_host: identity.workerHost ?? undefined,
    base_model: identity.baseModel ?? undefined,
    harness: harness ?? undefined,
    skills: [...skills],
    secrets: identity.secrets.map((secret) => ({ name: secret })),
    mcp_servers: mcpServers ? mapServers(mcpServers, maskSecrets) : undefined,
    memory: { auto_memory: { enabled: identity.autoMemory }, attached_stores: [] },
    factory_uid: identity.factoryUid ?? undefined,
  };
}
