import { choice, flag, type OptionValues, requiredText, text } from './command.js';

export const OUTPUT_OPTIONS = { json: flag('Print JSON.') };

export const REMOTE_OPTIONS = {
  url: text('origin', 'Origin of the API.', { variable: 'HEADRACE_URL' }),
  'token-file': text('path', 'File with the token; - reads standard input.', { variable: 'HEADRACE_TOKEN' }),
  ...OUTPUT_OPTIONS,
};
export type RemoteValues = OptionValues<typeof REMOTE_OPTIONS>;

export const FILE_OPTION = { file: requiredText('path', 'JSON or YAML file; - reads standard input.') };
export const TEAM_FILTER = { team: text('uid', 'Only resources of this team.') };
export const TEAM_CHOICE = { team: text('uid', 'Team, for users of several teams.') };
export const FACTORY_OPTION = { factory: text('uid|alias', 'Factory. Default: the only accessible one.') };

export const OWNER_OPTIONS = {
  team: text('uid', 'Team that owns it.'),
  personal: flag('Create it for yourself, without a team.'),
};

export const RUN_CONFIG_OPTIONS = {
  harness: text('id', 'Agent that executes the run.'),
  model: text('id', 'Model of the agent.'),
  environment: text('uid', 'Environment of the run.'),
  mcp: text('json', 'MCP servers by name.'),
  'permission-policy': choice(['allow', 'deny', 'ask'], 'Response to permission requests of the agent.'),
};

/** Options of a run that the service places on a worker. */
export const PLACED_RUN_OPTIONS = {
  ...RUN_CONFIG_OPTIONS,
  'worker-host': text('host', 'Self-hosted worker that executes the run.'),
};
