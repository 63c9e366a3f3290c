import { API_COMMANDS } from './api-commands.js';
import type { Command } from './command.js';
import { DATABASE_COMMANDS } from './database-commands.js';
import { SERVER_COMMANDS } from './server-commands.js';

/** Every command, in the order in which `--help` lists them. */
export const COMMANDS: readonly Command[] = [...SERVER_COMMANDS, ...API_COMMANDS, ...DATABASE_COMMANDS];
