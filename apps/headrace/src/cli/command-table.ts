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
    name: 'secrets list',
    usage: '--team <uid>',
    summary: 'List the managed secrets of a team, without their values',
    load: async () => (await import('../commands/secrets.js')).list,
  },
  {
    name: 'secrets set',
    usage: '<name> --team <uid>',
    summary: 'Make a managed secret or give it another value, which is read from standard input',
    load: async () => (await import('../commands/secrets.js')).set,
  },
  {
    name: 'secrets delete',
    usage: '<name> --team <uid>',
    summary: 'Delete a managed secret that nothing uses',
    load: async () => (await import('../commands/secrets.js')).remove,
  },
  {
    name: 'secrets rotate-key',
    usage: '',
    summary: 'Encrypt everything anew that is not under SECRETS_KEY, but under one of SECRETS_KEY_PREVIOUS',
    load: async () => (await import('../commands/secrets.js')).rotateKey,
  },
  {
    name: 'service-account create',
    usage: '<name> --team <uid>',
    summary: 'Make a service account of a team and print its UID',
    load: async () => (await import('../commands/team.js')).createServiceAccount,
  },
  {
    name: 'factory create',
    usage: '<name> --team <uid> [--alias <text>] [--description <text>]',
    summary: 'Make a factory of a team and print its UID',
    load: async () => (await import('../commands/factory.js')).create,
  },
  {
    name: 'factory list',
    usage: '',
    summary: 'List factories',
    load: async () => (await import('../commands/factory.js')).list,
  },
  {
    name: 'environment create',
    usage:
      '--file <path of JSON or YAML, or - for standard input> [--team <uid> | --personal] [--url <origin of the API>] [--token-file <path, or - for standard input>]',
    summary: 'Make an environment from its configuration and print its UID, by asking the API',
    load: async () => (await import('../commands/environment.js')).create,
  },
  {
    name: 'environment list',
    usage:
      '[--team <uid>] [--sort <name or last_updated>] [--url <origin of the API>] [--token-file <path, or - for standard input>]',
    summary: 'List the environments that you may use',
    load: async () => (await import('../commands/environment.js')).list,
  },
  {
    name: 'environment show',
    usage: '<uid> [--url <origin of the API>] [--token-file <path, or - for standard input>]',
    summary: 'Print the configuration of an environment, without the values of its variables',
    load: async () => (await import('../commands/environment.js')).show,
  },
  {
    name: 'environment update',
    usage:
      '<uid> --file <path of JSON or YAML, or - for standard input> [--url <origin of the API>] [--token-file <path, or - for standard input>]',
    summary: 'Replace the configuration of an environment; *** keeps the value of a variable',
    load: async () => (await import('../commands/environment.js')).update,
  },
  {
    name: 'environment delete',
    usage: '<uid> [--url <origin of the API>] [--token-file <path, or - for standard input>]',
    summary: 'Delete an environment',
    load: async () => (await import('../commands/environment.js')).remove,
  },
  {
    name: 'environment grant',
    usage:
      '<uid> --user <uid or e-mail> | --team <uid> [--url <origin of the API>] [--token-file <path, or - for standard input>]',
    summary: 'Share an environment with a person or a team',
    load: async () => (await import('../commands/environment-sharing.js')).grant,
  },
  {
    name: 'environment link',
    usage:
      '<uid> [--expires <duration or date>] [--max-uses <number>] [--url <origin of the API>] [--token-file <path, or - for standard input>]',
    summary: 'Share an environment by a link and print it, once',
    load: async () => (await import('../commands/environment-sharing.js')).link,
  },
  {
    name: 'environment sharing',
    usage: '<uid> [--url <origin of the API>] [--token-file <path, or - for standard input>]',
    summary: 'List the grants and links of an environment',
    load: async () => (await import('../commands/environment-sharing.js')).sharing,
  },
  {
    name: 'environment revoke',
    usage:
      '<uid> --grant <uid> | --link <uid> [--url <origin of the API>] [--token-file <path, or - for standard input>]',
    summary: 'Take a grant or a link of an environment back',
    load: async () => (await import('../commands/environment-sharing.js')).revoke,
  },
  {
    name: 'environment redeem',
    usage:
      '--link-file <path, or - for standard input> [--url <origin of the API>] [--token-file <path, or - for standard input>]',
    summary: 'Come by the environment that a link leads to, and print its UID',
    load: async () => (await import('../commands/environment-sharing.js')).redeem,
  },
  {
    name: 'apply',
    usage:
      '<directory> [--factory <uid or alias>] [--dry-run] [--url <origin of the API>] [--token-file <path, or - for standard input>]',
    summary: 'Make a factory what the files of a directory say, by asking the API',
    load: async () => (await import('../commands/definition.js')).apply,
  },
  {
    name: 'export',
    usage:
      '<directory> [--factory <uid or alias>] [--force] [--url <origin of the API>] [--token-file <path, or - for standard input>]',
    summary: 'Write a factory as files into a directory, by asking the API',
    load: async () => (await import('../commands/definition.js')).exportFiles,
  },
  {
    name: 'webhook create',
    usage:
      '<name> [--factory <uid>] [--auth-mode <token, url_token or signature>] [--scheme <id>] [--secret-file <path, or - for standard input> | --secret-name <name>] [--delivery-id-header <name>] [--disabled]',
    summary: 'Make a webhook and print its URL and, once, its secret',
    load: async () => (await import('../commands/webhook.js')).create,
  },
  {
    name: 'webhook list',
    usage: '[--factory <uid>]',
    summary: 'List the webhooks of a factory',
    load: async () => (await import('../commands/webhook.js')).list,
  },
  {
    name: 'webhook rotate',
    usage: '<uid> [--secret-file <path, or - for standard input>]',
    summary: 'Give a webhook another secret, or its first, and print it, once',
    load: async () => (await import('../commands/webhook.js')).rotate,
  },
  {
    name: 'webhook deliveries',
    usage: '<uid> [--outcome <label>] [--limit <number>]',
    summary: 'Show the latest deliveries of a webhook',
    load: async () => (await import('../commands/webhook.js')).deliveries,
  },
  {
    name: 'webhook send',
    usage: '<file> --webhook <uid> [--url <origin of the ingress>] [--delivery-id <id>]',
    summary: 'Sign a file as the sender of a webhook would, and post it to the ingress',
    load: async () => (await import('../commands/webhook-send.js')).send,
  },
];
