import type { CommandEntry, CommandModule } from './command.js';

type CommandExports<M> = { [K in keyof M]: M[K] extends CommandModule ? K : never }[keyof M];

function group<M extends object>(
  requires: CommandEntry['requires'],
  load: () => Promise<M>,
  commands: Readonly<Record<string, readonly [exported: CommandExports<M>, summary: string]>>,
): CommandEntry[] {
  return Object.entries(commands).map(([name, [exported, summary]]) => ({
    name,
    summary,
    requires,
    load: async () => (await load())[exported] as CommandModule,
  }));
}

export const COMMANDS: readonly CommandEntry[] = [
  ...group(null, () => import('../commands/server.js'), {
    up: ['up', 'Start everything in one process, with an embedded PostgreSQL unless DATABASE_URL is set'],
    api: ['api', 'Start the API alone'],
    ingress: ['ingress', 'Start the webhook ingress alone'],
    processor: ['processor', 'Start the processor of queued work alone'],
    migrate: ['migrate', 'Apply all database migrations'],
  }),
  ...group('database', () => import('../commands/backup.js'), {
    backup: [
      'backup',
      'Write a backup of the database and the objects into a new directory, while the installation runs',
    ],
    restore: ['restore', 'Restore a backup into an empty installation, which is held until --resume'],
  }),
  ...group(null, () => import('../commands/doctor.js'), {
    doctor: ['doctor', 'Check this machine and suggest fixes'],
  }),
  ...group(null, () => import('../commands/worker.js'), {
    worker: ['worker', 'Start the daemon of a self-hosted worker'],
  }),
  ...group(null, () => import('../commands/agent.js'), {
    'agent run': ['run', 'Execute a run in the current directory; without --prompt, the runner that workers start'],
    'agent resume': ['resume', 'Continue a run that has ended in a new or empty directory of this machine'],
    'agent probe': ['probe', 'Check that the API can be reached from here; started by doctor in a container'],
    'agent sweep': ['sweep', 'Remove the processes and files of a killed runner; started by the runner itself'],
    'builtin-agent': ['builtinAgent', 'Run the built-in agent: the Agent Client Protocol on standard input and output'],
  }),

  ...group('api', () => import('../commands/login.js'), {
    login: ['login', 'Log in to an API: approve it in the console, or give a token, which is then stored'],
    logout: ['logout', 'Remove the stored token of an API'],
    'login-link': ['loginLink', 'Create a link that opens the console, and print it; it can be used once'],
  }),
  ...group('api', () => import('../commands/run.js'), {
    'run create': ['create', 'Create a run and print its id; --follow shows it until it ends'],
    'run list': ['list', 'List runs, newest first'],
    'run get': ['get', 'Get a run'],
    'run follow': ['follow', 'Follow a run until it ends: its states, messages and actions'],
    'run follow-up': ['followUp', 'Submit a follow-up to a run'],
    'run rerun': ['rerun', 'Create a run with the input of another one and print its id'],
    'run interrupt': ['interrupt', 'Stop the current turn of a run and keep its session'],
    'run cancel': ['cancel', 'Cancel a run'],
  }),
  ...group('api', () => import('../commands/schedule.js'), {
    'schedule create': ['create', 'Create a schedule and print its id'],
    'schedule list': ['list', 'List schedules'],
    'schedule get': ['get', 'Get a schedule as JSON'],
    'schedule pause': ['pause', 'Pause a schedule'],
    'schedule resume': ['resume', 'Resume a schedule'],
    'schedule run': ['runNow', 'Start a run of a schedule now and print its id'],
    'schedule delete': ['remove', 'Delete a schedule'],
  }),
  ...group('api', () => import('../commands/automation.js'), {
    'automation create': ['create', 'Create an automation from a file and print its UID'],
    'automation list': ['list', 'List automations'],
    'automation get': ['get', 'Get an automation as JSON'],
    'automation enable': ['enable', 'Enable an automation'],
    'automation disable': ['disable', 'Disable an automation'],
    'automation delete': ['remove', 'Delete an automation'],
  }),
  ...group('api', () => import('../commands/worker.js'), {
    'worker list': ['list', 'List connected self-hosted workers'],
  }),
  ...group('api', () => import('../commands/environment.js'), {
    'environment create': ['create', 'Create an environment from a file and print its UID'],
    'environment list': ['list', 'List the environments that you can use'],
    'environment show': ['show', 'Get the configuration of an environment, without the values of its variables'],
    'environment update': ['update', 'Replace the configuration of an environment; *** keeps the value of a variable'],
    'environment delete': ['remove', 'Delete an environment'],
    'environment grant': ['grant', 'Share an environment with a user or a team'],
    'environment link': ['link', 'Create a link that shares an environment; it is returned only once'],
    'environment sharing': ['sharing', 'List the grants and links of an environment'],
    'environment revoke': ['revoke', 'Revoke a grant or a link of an environment'],
    'environment redeem': ['redeem', 'Redeem an environment link and print the UID of the environment'],
  }),
  ...group('api', () => import('../commands/approval.js'), {
    'approval list': ['list', 'List pending permission requests and questions'],
    'approval allow': ['allow', 'Allow a permission request; --always: the same kind for the rest of the run'],
    'approval deny': ['deny', 'Deny a permission request, with a reason'],
    'approval answer': ['answer', 'Answer a question of an agent'],
  }),
  ...group('api', () => import('../commands/token.js'), {
    'token create': ['create', 'Create a token and print it; it is returned only once'],
    'token list': ['list', 'List tokens, without their values'],
    'token revoke': ['revoke', 'Revoke a token'],
  }),
  ...group('api', () => import('../commands/team.js'), {
    'team create': ['create', 'Create a team and print its UID'],
    'team update': ['update', 'Update a team and the defaults of its runs'],
    'team list': ['list', 'List teams'],
  }),
  ...group('api', () => import('../commands/user.js'), {
    'user create': ['create', 'Create a user and print the UID'],
    'user list': ['list', 'List users and their roles'],
    'user add': ['add', 'Add a user to a team, or update the role'],
    'user remove': ['remove', 'Remove a team member'],
    'user disable': ['disable', 'Disable a user: reject all tokens, pause personal schedules, cancel personal runs'],
    'user enable': ['enable', 'Enable a disabled user: accept the tokens again'],
  }),
  ...group('api', () => import('../commands/invitation.js'), {
    'invitation create': ['create', 'Invite a person to a team and print the link, which can be used once'],
    'invitation list': ['list', 'List the open invitations of a team'],
    'invitation revoke': ['revoke', 'Revoke an invitation'],
  }),
  ...group('api', () => import('../commands/service-account.js'), {
    'service-account create': ['create', 'Create a service account of a team and print its UID'],
    'service-account list': ['list', 'List the service accounts of a team'],
    'service-account delete': ['remove', 'Delete a service account and revoke its tokens'],
  }),
  ...group('api', () => import('../commands/factory.js'), {
    'factory create': ['create', 'Create a factory of a team and print its UID'],
    'factory list': ['list', 'List factories'],
    'factory update': ['update', 'Update the name, alias or description of a factory'],
    'factory delete': ['remove', 'Delete a factory that has no webhooks, automations and agents'],
  }),
  ...group('api', () => import('../commands/audit.js'), {
    'audit list': ['list', 'List the audit log, newest first'],
    'audit export': ['exportLog', 'Export the audit log with its hashes, a JSON object in each line'],
    'audit verify': ['verify', 'Check that no entry of the audit log was changed or removed'],
  }),
  ...group('api', () => import('../commands/definition.js'), {
    apply: ['apply', 'Apply a factory definition from a directory'],
    export: ['exportFiles', 'Export a factory definition to a directory'],
  }),

  ...group('database', () => import('../commands/administrator.js'), {
    'administrator create': ['create', 'Create an administrator, or make a user one, and print a new token of theirs'],
    'administrator token': ['token', 'Create a token of an administrator and print it'],
  }),
  ...group('database', () => import('../commands/secrets.js'), {
    'secrets list': ['list', 'List the managed secrets of a team, without their values'],
    'secrets set': ['set', 'Create or update a managed secret; the value is read from standard input'],
    'secrets delete': ['remove', 'Delete a managed secret that nothing uses'],
    'secrets rotate-key': ['rotateKey', 'Re-encrypt data with the current key'],
  }),
  ...group('database', () => import('../commands/webhook.js'), {
    'webhook create': ['create', 'Create a webhook and print its URL and its secret, which is returned only once'],
    'webhook list': ['list', 'List the webhooks of a factory'],
    'webhook rotate': ['rotate', 'Rotate a webhook secret and print it; it is returned only once'],
    'webhook deliveries': ['deliveries', 'List webhook deliveries'],
  }),
  ...group('database', () => import('../commands/webhook-send.js'), {
    'webhook send': ['send', 'Sign a file as the sender of a webhook would, and send it to the ingress'],
  }),
];
