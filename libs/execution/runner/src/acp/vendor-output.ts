import { fields, items, text } from './fields.js';

const STACK_FRAME = /^\s*(?:at .*(?::\d+:\d+\)?|\((?:native|<anonymous>|index .*)\))|File ".*", line \d+.*)$/;
/** `[session/create] phase=… durationMs=124`, `[perf] …`: what an agent logs about itself. Errors stay. */
const DIAGNOSTIC = /^\[[a-z][\w/-]*\] /i;
const ERROR_WORDS = /\b(?:error|fail|cannot|could not|denied|refused)/i;
/** Absolute paths of at least two segments; those of a URL follow a host. */
const PATH = /(?<![\w:/.])(?:file:\/\/)?(?:\/[\w.@+~-]+)+\/([\w.@+~-]+)/g;

const COLOUR = /\u001b\[[0-9;]*m/g;

/** The text as a person can use it: without stack frames, absolute paths, terminal colours and diagnostics of the agent. */
export function withoutInternals(output: string): string {
  return output
    .replace(COLOUR, '')
    .split('\n')
    .filter((line) => !STACK_FRAME.test(line) && (!DIAGNOSTIC.test(line) || ERROR_WORDS.test(line)))
    .map((line) => line.replace(PATH, '$1').trimEnd())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

/** The message within what vendors report: JSON as providers answer it, also behind or within another message. */
export function vendorMessage(output: string): string {
  const start = output.indexOf('{');
  const inner = start < 0 ? undefined : messageInJson(output.slice(start));
  const message = inner ?? output;
  return withoutInternals(message.replace(/^(?:(?:Internal error|API Error|Error|RequestError): )+/i, ''));
}

function messageInJson(json: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined; // text that happens to have a brace
  }
  const { error, message, errors } = fields(value);
  const found =
    text(fields(error)['message']) ?? text(error) ?? text(message) ?? text(fields(items(errors)[0])['message']);
  return found === undefined ? undefined : vendorMessage(found);
}
