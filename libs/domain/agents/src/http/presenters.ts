import { MASKED } from '#platform/kernel';
import type { StoredIdentity } from '../domain/agent-identity.js';
import { mapSecrets, mapServers, type RegisteredServer } from '../domain/mcp-server.js';
import type { IdentityItem } from './identity.dto.js';
import type { McpServerItem } from './mcp-server.dto.js';

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
