const UID = '^[A-Za-z0-9]{22}$';

/** Text of at most so many characters, and not blank. */
export const text = (maxLength: number, description: string, more: object = {}): object => ({
  type: 'string',
  minLength: 1,
  maxLength,
  pattern: '\\S',
  patternErrorMessage: 'must not be blank',
  description,
  ...more,
});

/** The keys that can stand in `agentDefaults`, in agents and in automations. */
export const AGENT_SETTINGS: Readonly<Record<string, object>> = {
  model: text(256, 'Model of the runs, such as `auto` or an id of GET /agent/models.'),
  environmentId: {
    type: 'string',
    pattern: UID,
    patternErrorMessage: 'must be the UID of an environment, 22 letters and digits',
    description: 'UID of an environment of the team, in which the runs work.',
  },
  workerHost: text(256, 'Self-hosted worker that executes the runs; `warp` stands for hosted workers.'),
  harness: text(64, 'Agent program of the runs; `oz` is the built-in one.'),
  mcpServers: {
    type: 'object',
    description:
      'MCP servers of the runs, by the name that they have there. Only servers that are registered for the team: files hold no commands, addresses or secrets.',
    maxProperties: 32,
    propertyNames: { minLength: 1, maxLength: 128 },
    additionalProperties: {
      type: 'object',
      properties: {
        warp_id: {
          type: 'string',
          pattern: UID,
          patternErrorMessage: 'must be the UID of an MCP server, 22 letters and digits',
          description: 'UID of an MCP server that is registered for the team.',
        },
      },
      required: ['warp_id'],
      additionalProperties: false,
    },
  },
};
