import { agentConfigColumn } from '#domain/runs';
import { secretsOf } from '../domain/automation.js';

/** Credentials of the MCP servers of automations. `version` does not change: runs receive the same values as before. */
export const AUTOMATIONS_ENCRYPTED_COLUMNS = [agentConfigColumn('automations', secretsOf)];
