import type { ActionName, JsonObject } from './conversation.js';
import type { CallFold } from './fold-state.js';
import { field, integerField, isObject, listField, textField } from './json-fields.js';

/**
 * What a tool answered: `output` is text, cut in its middle when it is long (`truncated`); `exit_code` for commands;
 * `resources` names what is not passed through; `data` is an answer that is not text.
 */
export function actionOutput(name: ActionName, call: CallFold): JsonObject {
  const text = textOf(call.output) ?? contentText(call);
  const exitCode = name === 'run_command' ? exitCodeOf(call.output) : undefined;
  const resources = (call.content ?? []).filter((item) => item.type === 'resource');
  const structured = text === undefined && isStructured(call.output) ? call.output : undefined;
  const truncated =
    call.output_truncated === true || (call.content ?? []).some((item) => item.type === 'text' && item.truncated);
  return {
    ...(text !== undefined || name === 'run_command' ? { output: text ?? '' } : {}),
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    ...(structured === undefined ? {} : { data: structured }),
    ...(resources.length === 0
      ? {}
      : { resources: resources.map(({ uri, mime_type, size_bytes }) => ({ uri, mime_type, size_bytes })) }),
    ...(truncated ? { truncated: true } : {}),
  };
}

/** The text in an agent's raw output: agents wrap it differently. */
function textOf(output: unknown): string | undefined {
  if (typeof output === 'string') return output;
  if (Array.isArray(output)) return joinTexts(output);
  if (!isObject(output)) return undefined;
  const [stdout, stderr] = [field(output, 'stdout'), field(output, 'stderr')];
  if (typeof stdout === 'string' || typeof stderr === 'string') {
    return [stdout, stderr].filter((part) => typeof part === 'string' && part !== '').join('\n');
  }
  for (const key of ['output', 'aggregated_output', 'content', 'text', 'message', 'error', 'result']) {
    const found = field(output, key);
    if (typeof found === 'string') return found;
    if (Array.isArray(found) && found.length > 0) {
      const joined = joinTexts(found);
      if (joined !== undefined) return joined;
    }
  }
  return undefined;
}

function joinTexts(items: unknown[]): string | undefined {
  const texts = items.flatMap((item) => (typeof item === 'string' ? item : (textField(item, 'text') ?? [])));
  return texts.length === 0 ? undefined : texts.join('\n');
}

/** Some agents fence a command's output as Markdown; the fence is theirs, not the command's. */
function contentText(call: CallFold): string | undefined {
  const texts = (call.content ?? []).flatMap((item) => (item.type === 'text' && item.text ? [item.text] : []));
  if (texts.length === 0) return undefined;
  const text = texts.join('\n');
  return /^```[a-z]*\n(.*?)\n?```$/s.exec(text)?.[1] ?? text;
}

const EXIT_KEYS = ['exit_code', 'exitCode', 'exit'];

function exitCodeOf(output: unknown): number | undefined {
  const places = [output, field(output, 'metadata'), field(output, 'result'), ...listField(output, 'contents')];
  for (const place of places) {
    const code = integerField(place, ...EXIT_KEYS);
    if (code !== undefined) return code;
  }
  return undefined;
}

function isStructured(output: unknown): boolean {
  return (
    typeof output === 'number' ||
    typeof output === 'boolean' ||
    (typeof output === 'object' && output !== null && Object.keys(output).length > 0)
  );
}
