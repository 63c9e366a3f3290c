import { statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Assignment, RunnerHandover } from '#execution/runner-protocol';
import { findCommand } from '../process/child-environment.js';

/** Name of the MCP server with the tools of the run. */
export const TOOL_SERVER = 'headrace';

/** Connects standard streams to a socket: agents start MCP servers as programs. */
const PROGRAM = [
  'process.chdir(process.argv[1])',
  "const socket = require('node:net').connect(process.argv[2])",
  "socket.on('error', (error) => { console.error(error.message); process.exit(1) })",
  "socket.on('close', () => process.exit(0))",
  'process.stdin.pipe(socket)',
  'socket.pipe(process.stdout)',
].join(';');

/** How an agent starts the MCP server with the tools of the run; null: its user can execute no Node.js. `path`: `PATH` of the agent. */
export function toolConnection(
  socket: string,
  path: () => string,
  runAs: RunnerHandover['run_as'],
): Assignment['mcp_servers'][string] | null {
  const isOwn = runAs === undefined || isForEverybody(process.execPath);
  const node = isOwn ? process.execPath : findCommand('node', path());
  if (node === null || !(isOwn || isForEverybody(node))) return null;
  return { command: node, args: ['-e', PROGRAM, dirname(socket), basename(socket)] };
}

/** Whether any user can execute the file, by the permissions of the file and of the directories above it. */
function isForEverybody(path: string): boolean {
  try {
    if ((statSync(path).mode & 0o005) !== 0o005) return false;
    for (let directory = dirname(path); ; directory = dirname(directory)) {
      if ((statSync(directory).mode & 0o001) === 0) return false;
      if (directory === dirname(directory)) return true;
    }
  } catch {
    return false;
  }
}
