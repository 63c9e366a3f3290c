import type { Issue } from '#platform/http';
import { type AgentConfig, type AmbientAgentConfig, readAgentConfig, refuseOversized } from '#domain/runs';
import type { RequestedSchedule } from '../application/schedule-validator.js';
import type { CreateScheduledAgentRequest, UpdateScheduledAgentRequest } from './schedule.dto.js';
import { invalidFields } from './schedule-problems.js';

/** An absent field gets its default, except `agent_config`. Throws a problem for an invalid configuration. */
export function toRequestedSchedule(
  body: CreateScheduledAgentRequest | UpdateScheduledAgentRequest,
): RequestedSchedule {
  refuseOversized('prompt', body.prompt);
  return {
    name: body.name,
    cronSchedule: body.cron_schedule,
    prompt: body.prompt,
    enabled: body.enabled,
    ...(body.timezone !== undefined && { timezone: body.timezone }),
    ...(body.agent_config !== undefined && { agentConfig: body.agent_config && toConfig(body.agent_config) }),
    ...(body.agent_uid !== undefined && { agentIdentityUid: body.agent_uid }),
    ...(body.mode !== undefined && { mode: body.mode }),
    ...(body.metadata !== undefined && { metadata: { ...body.metadata } }),
    ...(body.overlap_policy !== undefined && { overlapPolicy: body.overlap_policy }),
    ...(body.jitter_seconds !== undefined && { jitterSeconds: body.jitter_seconds }),
  };
}

function toConfig(config: AmbientAgentConfig): AgentConfig {
  const read = readAgentConfig(JSON.parse(JSON.stringify(config)));
  if (read.kind === 'valid') return read.config;
  throw invalidFields(read.issues.map(inConfig));
}

const inConfig = ({ pointer, detail }: Issue): Issue => ({ pointer: `/agent_config${pointer}`, detail });
