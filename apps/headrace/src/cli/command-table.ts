import type { Command } from './command.js';

/** Every command, in the order in which `--help` lists them. */
export const COMMANDS: readonly Command[] = [
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
    summary: 'Bring the database to the newest schema',
    load: () => import('../commands/migrate.js'),
  },
  {
    name: 'agent run',
    usage: '',
    summary: 'Execute one run; started by the processor, which hands the assignment over on standard input',
    load: () => import('../commands/agent-run.js'),
  },
  {
    name: 'builtin-agent',
    usage: '',
    summary: 'The built-in agent, speaking the Agent Client Protocol on standard input and output',
    load: () => import('../commands/builtin-agent.js'),
  },
];
