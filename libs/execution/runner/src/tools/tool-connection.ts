import { basename, dirname } from 'node:path';
import type { Assignment, RunnerHandover } from '#execution/runner-protocol';
import { findNode } from '../process/node-program.js';

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
  const node = findNode(path, runAs);
  return node === null ? null : { command: node, args: ['-e', PROGRAM, dirname(socket), basename(socket)] };
}
