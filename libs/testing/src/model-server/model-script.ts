import { asArray, asObject, type JsonObject } from './json.js';
import type { ModelRequest, ModelStep, OfferedTool } from './model-dialect.js';

const SHELL = /^(?:bash|shell|shell_command|exec_command|run_shell_command|local_shell|execute)$/i;

const ERRORS: Readonly<Record<string, string>> = {
  '401': 'Incorrect API key provided.',
  '404': 'The model `mock-model` does not exist or you do not have access to it.',
  '429': 'Rate limit reached for requests.',
  '500': 'The server had an error while processing your request.',
};

/** The step that fails with this status, or `cut`, `midway`, `quota` or `budget`. */
export function failing(how: string, retryAfter?: string): ModelStep {
  if (how === 'cut' || how === 'midway' || how === 'quota' || how === 'budget') return { kind: how };
  const step = { kind: 'fail', status: Number(how), message: ERRORS[how] ?? 'It failed.' } as const;
  return retryAfter === undefined ? step : { ...step, retryAfter: Number(retryAfter) };
}

/**
 * Does what the user's last message says: a line `RUN: <command>` is one call of the agent's shell tool and then a text,
 * `ASK: <command>` the same with the wish to run it outside of the agent's sandbox, a line `HANG` an answer that does not
 * come to its end, `FAIL: <status>`, with the seconds of its Retry-After, or `FAIL: cut`, `midway`, `quota` or `budget` an error, after
 * the call where there is one; anything else a text. Lines behind it, `THEN RUN: <command>` and `THEN CALL: <tool> <arguments>`,
 * are further calls, one after the other. What agents ask by the way (a title for the session), without tools, gets a text as well.
 */
export function followInstructions(request: ModelRequest): ModelStep {
  const { tools, userText, toolResults } = request;
  if (tools.length === 0) return { kind: 'text', text: 'A title' };
  const [, fault, retryAfter] = /^FAIL: (\w+)(?: (\d+))?$/m.exec(userText) ?? [];
  const first = [...userText.matchAll(/^(RUN|ASK|HANG)(?:: (.+))?$/gm)].at(-1);
  const [, instruction = '', argument = ''] = first ?? [];
  if (fault !== undefined && (toolResults > 0 || instruction === '')) return failing(fault, retryAfter);
  if (toolResults > 0) {
    const later = [...userText.slice(first?.index).matchAll(/^THEN (RUN|CALL): (.+)$/gm)][toolResults - 1];
    if (later === undefined) return { kind: 'text', text: 'The command has run.' };
    return later[1] === 'RUN' ? runCommand(tools, later[2] ?? '') : callTool(tools, later[2] ?? '');
  }
  if (instruction === 'HANG') return { kind: 'hang' };
  return instruction === ''
    ? { kind: 'text', text: 'Understood.' }
    : runCommand(tools, argument, instruction === 'ASK');
}

function runCommand(tools: readonly OfferedTool[], command: string, isEscalated = false): ModelStep {
  const shell = tools.find(({ name }) => SHELL.test(name));
  if (!shell) return missing('shell', tools);
  const escalation = isEscalated && 'sandbox_permissions' in asObject(shell.schema['properties']);
  const args = {
    ...shellArguments(shell, command),
    ...(escalation ? { sandbox_permissions: 'require_escalated', justification: 'May I?' } : {}),
  };
  return { kind: 'tool', name: shell.name, args };
}

/** `call`: the name of a tool, which an agent may put behind that of its server, and its arguments in JSON. */
function callTool(tools: readonly OfferedTool[], call: string): ModelStep {
  const [, wanted = '', args = '{}'] = /^(\S+) ?(.*)$/.exec(call) ?? [];
  const tool = tools.find(({ name }) => name === wanted || name.endsWith(`_${wanted}`));
  return tool ? { kind: 'tool', name: tool.name, args: asObject(JSON.parse(args)) } : missing(wanted, tools);
}

const missing = (what: string, tools: readonly OfferedTool[]): ModelStep => ({
  kind: 'text',
  text: `There is no ${what} among ${tools.map(({ name }) => name).join(', ')}.`,
});

/** The command where the tool takes one, and something fitting for whatever else it insists on. */
function shellArguments({ schema }: OfferedTool, command: string): JsonObject {
  const properties = Object.entries(asObject(schema['properties']));
  const required = asArray(schema['required']);
  return Object.fromEntries(
    properties.flatMap(([name, property]): [string, unknown][] => {
      const { type, enum: values } = asObject(property);
      if (/^(?:command|cmd|script)$/.test(name)) return [[name, type === 'array' ? ['bash', '-lc', command] : command]];
      if (!required.includes(name)) return [];
      if (Array.isArray(values)) return [[name, values[0] as unknown]];
      if (type === 'boolean') return [[name, false]];
      if (type === 'number' || type === 'integer') return [[name, 10_000]];
      return [[name, /dir|path|cwd/i.test(name) ? '.' : 'Runs a command']];
    }),
  );
}
