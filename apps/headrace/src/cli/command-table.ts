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
  {
    name: 'token create',
    usage:
      '(--user <uid or e-mail> | --service-account <uid> | --agent <uid>) [--name <text>] [--expires <30d or date>]',
    summary: 'Make a token and print it, once',
    load: async () => (await import('../commands/token.js')).create,
  },
  {
    name: 'token list',
    usage: '[--user <uid or e-mail> | --service-account <uid> | --agent <uid>]',
    summary: 'List tokens, without the tokens themselves',
    load: async () => (await import('../commands/token.js')).list,
  },
  {
    name: 'token revoke',
    usage: '<token-uid>',
    summary: 'Revoke a token for good',
    load: async () => (await import('../commands/token.js')).revoke,
  },
  {
    name: 'team create',
    usage: '<name> [--max-concurrent-runs <number>]',
    summary: 'Make a team and print its UID',
    load: async () => (await import('../commands/team.js')).create,
  },
  {
    name: 'team update',
    usage:
      '<uid> [--name <text>] [--max-concurrent-runs <number or none>] [--default-model <id or none>] [--default-worker-host <host or none>] [--metadata-filter <on or off>] [--schedules <on or off>]',
    summary: 'Change a team and what its runs start with',
    load: async () => (await import('../commands/team.js')).update,
  },
  {
    name: 'team list',
    usage: '',
    summary: 'List teams',
    load: async () => (await import('../commands/team.js')).list,
  },
  {
    name: 'user create',
    usage: '<email> [--name <text>]',
    summary: 'Make a user and print the UID',
    load: async () => (await import('../commands/user.js')).create,
  },
  {
    name: 'user list',
    usage: '[--team <uid>]',
    summary: 'List users and their roles',
    load: async () => (await import('../commands/user.js')).list,
  },
  {
    name: 'user add',
    usage: '<user-uid> --team <uid> --role <owner, admin, member or viewer>',
    summary: 'Make a user a member of a team, or change the role',
    load: async () => (await import('../commands/user.js')).add,
  },
  {
    name: 'user remove',
    usage: '<user-uid> --team <uid>',
    summary: 'End a membership',
    load: async () => (await import('../commands/user.js')).remove,
  },
  {
    name: 'service-account create',
    usage: '<name> --team <uid>',
    summary: 'Make a service account of a team and print its UID',
    load: async () => (await import('../commands/team.js')).createServiceAccount,
  },
];
