import type { Command } from './command.js';

/** Commands that start processes of the service or look after them. */
export const SERVER_COMMANDS: readonly Command[] = [
  {
    name: 'up',
    usage: '',
    summary: 'Start everything in one process, with an embedded PostgreSQL unless DATABASE_URL is set',
    load: () => import('../commands/up.js'),
  },
  {
    name: 'api',
    usage: '',
    summary: 'Start the API alone',
    load: async () => (await import('../commands/serve.js')).api,
  },
  {
    name: 'ingress',
    usage: '',
    summary: 'Start the webhook ingress alone',
    load: async () => (await import('../commands/serve.js')).ingress,
  },
  {
    name: 'processor',
    usage: '',
    summary: 'Start the processor of queued work alone',
    load: async () => (await import('../commands/serve.js')).processor,
  },
  {
    name: 'migrate',
    usage: '',
    summary: 'Apply all database migrations',
    load: () => import('../commands/migrate.js'),
  },
  {
    name: 'doctor',
    usage: '[--json] [--worker] [--backend <process or docker>] [--harness <id>]…',
    summary: 'Check this machine and suggest fixes',
    load: () => import('../commands/doctor.js'),
  },
  {
    name: 'worker',
    usage: '--worker-id <name> [--server-root-url <url>] [--api-key-file <path>] [--config-file <path>] [options]',
    summary: 'Start the daemon of a self-hosted worker',
    details: async () => (await import('../commands/worker.js')).help(),
    load: () => import('../commands/worker.js'),
  },
  {
    name: 'agent run',
    usage:
      '--prompt <text, or - for standard input> [--workspace <directory>] [--idle] [--json] [--harness <id>] [--model <id>] [--skill <spec>] [--environment <uid>] [--mcp <JSON>] [--permission-policy <allow or deny or ask>] [--title <text>] [--conversation <id>] [--agent <uid>] [--team <uid> | --personal]',
    summary: 'Execute a run in the current directory; without --prompt, the runner that workers start',
    load: () => import('../commands/agent-run.js'),
  },
  {
    name: 'agent probe',
    usage: '<origin of the API>',
    summary: 'Check that the API can be reached from here; started by doctor in a container',
    load: () => import('../commands/agent-probe.js'),
  },
  {
    name: 'agent sweep',
    usage: '',
    summary: 'Remove the processes and files of a killed runner; started by the runner itself',
    load: () => import('../commands/agent-sweep.js'),
  },
  {
    name: 'builtin-agent',
    usage: '',
    summary: 'The built-in agent, speaking the Agent Client Protocol on standard input and output',
    load: () => import('../commands/builtin-agent.js'),
  },
];
