import { ApiHeader } from '@nestjs/swagger';
import { createHash } from 'node:crypto';
import { serverIssues } from '#domain/agents';
import { variableIssues } from '#domain/environments';
import type { AgentConfig } from '#execution/executions';
import { workerHostFault } from '#execution/worker-protocol';
import { invalidInput, object, ProblemError, unwrap } from '#platform/http';
import { refFault } from '#platform/git';
import { canonicalJson, type Issue, prefixIssues } from '#platform/kernel';
import { DEFAULT_DELAY_SECONDS } from '../application/concurrent-runs.js';
import type { RequestedConcurrency } from '../application/create-keyed-run.js';
import type { CreateRunCommand } from '../application/create-run.js';
import { checkAttachments } from '../domain/attachment.js';
import type { IdempotencyClaim } from '../persistence/run-inserts.js';
import { AmbientAgentConfig, type ListedMcpServer } from './dto/agent-config.dto.js';
import type { RunConcurrency, RunInput } from './dto/run-requests.dto.js';
import { RUN } from './problems.js';

/** The configuration of a request to create a run. Throws a 400 that names each place that breaks a rule. */
export function toAgentConfig(config: AmbientAgentConfig | undefined): AgentConfig | undefined {
  if (!config) return undefined;
  const issues = furtherIssues(config);
  if (issues.length > 0) throw invalidInput(prefixIssues('/config', issues));
  return stored(config);
}

/** Any JSON value as a configuration, by the rules of a request; pointers of issues are into the configuration. */
export function readAgentConfig(
  raw: unknown,
):
  | { readonly kind: 'valid'; readonly config: AgentConfig }
  | { readonly kind: 'invalid'; readonly issues: readonly Issue[] } {
  const config = CONFIG.read(raw, 'body');
  const wrongFields = CONFIG.check(config);
  const issues = wrongFields.length > 0 ? wrongFields : furtherIssues(config as AmbientAgentConfig);
  return issues.length > 0
    ? { kind: 'invalid', issues }
    : { kind: 'valid', config: stored(config as AmbientAgentConfig) };
}

const CONFIG = object(() => AmbientAgentConfig);

/** Rules between fields, and those that answers need not keep: what is stored may be older than a rule. */
function furtherIssues(config: AmbientAgentConfig): Issue[] {
  const issues: Issue[] = [];
  const hostFault = config.worker_host === undefined ? null : workerHostFault(config.worker_host);
  if (hostFault !== null) issues.push({ pointer: '/worker_host', detail: hostFault });
  const refRule = config.repository?.ref === undefined ? null : refFault(config.repository.ref);
  if (refRule !== null) issues.push({ pointer: '/repository/ref', detail: refRule });
  if (config.skill_spec !== undefined && config.skills !== undefined) {
    issues.push({ pointer: '/skills', detail: 'must not be given together with skill_spec' });
  }
  const names = new Set<string>();
  for (const [key, server] of Object.entries(config.mcp_servers ?? {})) {
    const name = Array.isArray(config.mcp_servers) ? nameInList(server, Number(key)) : key;
    if (names.has(name))
      issues.push({ pointer: `/mcp_servers/${key}/name`, detail: `is the name of two servers: ${name}` });
    names.add(name);
  }
  issues.push(...serverIssues(config.mcp_servers ?? {}, '/mcp_servers'));
  issues.push(...variableIssues({ secrets: config.secrets ?? [] }));
  if (config.permission_allow_list !== undefined && config.permission_policy !== 'allow_list') {
    issues.push({ pointer: '/permission_allow_list', detail: 'needs permission_policy allow_list' });
  }
  return issues;
}

const nameInList = ({ name }: ListedMcpServer, index: number): string => name ?? `server-${index + 1}`;

/** As plain data without unset properties; a list of servers becomes a map by their names. */
function stored({ mcp_servers: servers, ...config }: AmbientAgentConfig): AgentConfig {
  const named = Array.isArray(servers)
    ? Object.fromEntries(
        servers.map((server, index) => {
          const { name: _name, ...rest } = server;
          return [nameInList(server, index), rest];
        }),
      )
    : servers;
  return JSON.parse(JSON.stringify({ ...config, mcp_servers: named })) as AgentConfig;
}

export function toCreateRunCommand(request: RunInput): Omit<CreateRunCommand, 'source' | 'idempotency'> {
  const { prompt, title, mode, skill, team, interactive, metadata } = request;
  return {
    prompt,
    title,
    mode,
    skill,
    team,
    interactive,
    metadata,
    config: toAgentConfig(request.config),
    attachments: unwrap(checkAttachments(request.attachments ?? []), RUN).attachments,
    agentIdentityUid: request.agent_identity_uid,
    conversationId: request.conversation_id,
    parentRunId: request.parent_run_id,
  };
}

/** Null: the request has none. Throws a 400. */
export function toConcurrency(requested: RunConcurrency | undefined): RequestedConcurrency | null {
  if (!requested) return null;
  const { key, policy, delay_seconds: delay } = requested;
  if (delay !== undefined && policy !== 'debounce')
    throw invalidInput([{ pointer: '/concurrency/delay_seconds', detail: 'is allowed with the policy debounce only' }]);
  return { key, policy, delayMs: 1000 * (delay ?? DEFAULT_DELAY_SECONDS) };
}

export const IDEMPOTENCY_KEY = 'Idempotency-Key';
const IDEMPOTENCY_KEY_PATTERN = /^[\x21-\x7e]{1,255}$/;

const KEY_RULE = 'must have 1 to 255 printable ASCII characters without spaces';

/** Documents the header; left to itself the document would call it required. */
export const IdempotencyKeyHeader = (): MethodDecorator =>
  ApiHeader({
    name: IDEMPOTENCY_KEY,
    required: false,
    description:
      'Makes retries safe: a request with the same key and body returns the first run again. 1 to 255 printable ASCII characters.',
    schema: { type: 'string', pattern: IDEMPOTENCY_KEY_PATTERN.source },
  });

/** The `Idempotency-Key` header with a digest of what it stands for, or null when none was sent. */
export function idempotencyClaim(header: string | undefined, body: unknown): IdempotencyClaim | null {
  if (header === undefined) return null;
  if (!IDEMPOTENCY_KEY_PATTERN.test(header)) {
    throw new ProblemError('invalid_request', `The header \`${IDEMPOTENCY_KEY}\` ${KEY_RULE}.`, {
      errors: [{ pointer: `/headers/${IDEMPOTENCY_KEY}`, detail: KEY_RULE }],
    });
  }
  // The same request with its keys in another order is the same request.
  return { key: header, requestHash: createHash('sha256').update(canonicalJson(body)).digest() };
}
