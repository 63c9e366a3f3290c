import { asArray, asObject, type JsonObject } from './json.js';
import type { ModelRequest, ModelStep, OfferedTool } from './model-dialect.js';

const SHELL = /^(?:bash|shell|shell_command|exec_command|run_shell_command|local_shell|execute)$/i;

const ERRORS: Readonly<Record<string, string>> = {
  '401': 'Incorrect API key provided.',
  '404': 'The model `mock-model` does not exist or you do not have access to it.',
  '429': 'Rate limit reached for requests.',
  '500': 'The server had an error while processing your request.',
};

/** The step that fails with this status, or `cut`. */
export function failing(how: string): ModelStep {
  return how === 'cut' ? { kind: 'cut' } : { kind: 'fail', status: Number(how), message: ERRORS[how] ?? 'It failed.' };
}

/**
 * Does what the user's last message says: a line `RUN: <command>` is one call of the agent's shell tool and then a text,
 * `ASK: <command>` the same with the wish to run it outside of the agent's sandbox, a line `HANG` an answer that does not
 * come to its end, `FAIL: <status>` or `FAIL: cut` an error, after the call where there is one; anything else a text. What
 * agents ask by the way (a title for the session), without tools, gets a text as well.
 */
export function followInstructions(request: ModelRequest): ModelStep {
  const { tools, userText, isAfterTool } = request;
  if (tools.length === 0) return { kind: 'text', text: 'A title' };
  const fault = /^FAIL: (\w+)$/m.exec(userText)?.[1];
  const [, instruction = '', argument = ''] = [...userText.matchAll(/^(RUN|ASK|HANG)(?:: (.+))?$/gm)].at(-1) ?? [];
  if (fault !== undefined && (isAfterTool || instruction === '')) return failing(fault);
  if (isAfterTool) return { kind: 'text', text: 'The command has run.' };
  if (instruction === 'HANG') return { kind: 'hang' };
  if (instruction === '') return { kind: 'text', text: 'Understood.' };
  const shell = tools.find(({ name }) => SHELL.test(name));
  if (!shell) return { kind: 'text', text: `There is no shell among ${tools.map(({ name }) => name).join(', ')}.` };
  const escalation = instruction === 'ASK' && 'sandbox_permissions' in asObject(shell.schema['properties']);
  const args = {
    ...shellArguments(shell, argument),
    ...(escalation ? { sandbox_permissions: 'require_escalated', justification: 'May I?' } : {}),
  };
  return { kind: 'tool', name: shell.name, args };
}

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
