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
    name: 'doctor',
    usage:
      '[--json] [--worker] [--backend <process or docker>] [--url <origin of the API>] [--token-file <path, or - for standard input>] [--harness <id>]…',
    summary: 'Look at everything that Headrace needs on this machine, and say how to mend what is wrong',
    load: () => import('../commands/doctor.js'),
  },
  {
    name: 'worker',
    usage: '--worker-id <name> [--server-root-url <url>] [--api-key-file <path>] [--config-file <path>] [options]',
    summary: 'Execute runs of one worker host on this machine: the daemon of a self-hosted worker',
    details: async () => (await import('../commands/worker.js')).help(),
    load: () => import('../commands/worker.js'),
  },
  {
    name: 'agent run',
    usage:
      '--prompt <text, or - for standard input> [--workspace <directory>] [--idle] [--json] [--harness <id>] [--model <id>] [--skill <spec>] [--environment <uid>] [--mcp <JSON>] [--permission-policy <allow or deny or ask>] [--title <text>] [--conversation <id>] [--agent <uid>] [--team <uid> | --personal] [--url <origin of the API>] [--token-file <path, or - for standard input>]',
    summary: 'Execute a run in the current directory; without --prompt the runner of processors and workers',
    load: () => import('../commands/agent-run.js'),
  },
  {
    name: 'agent sweep',
    usage: '',
    summary: 'Clear what a runner that was killed has left; started by the runner itself',
    load: () => import('../commands/agent-sweep.js'),
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
    name: 'approval list',
    usage: '[--team <uid>] [--url <origin of the API>] [--token-file <path, or - for standard input>]',
    summary: 'List what agents ask and nobody has answered yet, by asking the API',
    load: async () => (await import('../commands/approval.js')).list,
  },
  {
    name: 'approval allow',
    usage:
      '<approval-id> [--run <id>] [--always] [--note <text>] [--url <origin of the API>] [--token-file <path, or - for standard input>]',
    summary: 'Allow what an agent asks; --always: the same kind for the rest of the run',
    load: async () => (await import('../commands/approval.js')).allow,
  },
  {
    name: 'approval deny',
    usage:
      '<approval-id> [--run <id>] [--note <text>] [--url <origin of the API>] [--token-file <path, or - for standard input>]',
    summary: 'Deny what an agent asks, with a word for it',
    load: async () => (await import('../commands/approval.js')).deny,
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
