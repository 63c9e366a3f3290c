import { agentConfigColumn } from '#domain/runs';
import { secretsOf } from '../domain/schedule.js';

/** Credentials of the MCP servers of schedules. */
export const SCHEDULES_ENCRYPTED_COLUMNS = [agentConfigColumn('schedules', secretsOf)];
