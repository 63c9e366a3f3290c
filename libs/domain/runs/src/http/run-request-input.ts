import type { CreateRunCommand } from '../application/create-run.js';
import { toAttachments } from './attachment-input.js';
import { toAgentConfig } from './config-input.js';
import type { RunAgentRequest } from './dto/run-requests.dto.js';

/** What a request says of the run, wherever that is to be executed. */
export function toCreateRunCommand(request: RunAgentRequest): Omit<CreateRunCommand, 'source' | 'idempotency'> {
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
    attachments: toAttachments(request.attachments),
    agentIdentityUid: request.agent_identity_uid,
    conversationId: request.conversation_id,
    parentRunId: request.parent_run_id,
  };
}
