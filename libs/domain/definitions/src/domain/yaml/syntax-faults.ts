import type { YAMLError } from 'yaml';
import type { YamlFault } from './scan-yaml.js';

/** One slip makes many errors, of which the first ones help. */
const MAX_SHOWN = 5;

/** Not the messages of the parser: they can repeat the content of the file, which may be a secret by mistake. */
const MESSAGES: Readonly<Partial<Record<YAMLError['code'], string>>> = {
  BAD_DQ_ESCAPE: 'A backslash in double quotes begins an escape, and this is none: double it, or use single quotes.',
  BAD_INDENT: 'The indentation does not fit the lines above.',
  BAD_SCALAR_START: 'Plain text cannot begin with this character: put the value in quotes.',
  BLOCK_AS_IMPLICIT_KEY:
    'A colon inside a value begins another key: put the value in quotes, or the key on a separate line.',
  BLOCK_IN_FLOW: 'Inside brackets, values stand in brackets too.',
  KEY_OVER_1024_CHARS: 'A key has at most 1024 characters.',
  MULTILINE_IMPLICIT_KEY: 'A key stands on one line, followed by a colon.',
  TAB_AS_INDENT: 'Tabs are not allowed as indentation: use spaces.',
};
const OTHERWISE = 'This is not allowed at this place in YAML.';

/** Of a document's errors, one a place. */
export function syntaxFaults(errors: readonly YAMLError[]): YamlFault[] {
  const byOffset = new Map<number, YAMLError>();
  for (const error of errors) if (!byOffset.has(error.pos[0])) byOffset.set(error.pos[0], error);
  return [...byOffset.values()]
    .sort((one, other) => one.pos[0] - other.pos[0])
    .slice(0, MAX_SHOWN)
    .map((error) => ({ code: 'yaml_syntax', offset: error.pos[0], message: wordsFor(error) }));
}

function wordsFor({ code, message }: YAMLError): string {
  // Says what is missing, and nothing that stands there.
  if (code === 'MISSING_CHAR') return `${message}.`;
  const bracket = code === 'BAD_INDENT' ? /end with a ([\]}])/.exec(message)?.[1] : undefined;
  if (bracket !== undefined) return `A ${bracket} is missing, or the lines before it are not indented.`;
  return MESSAGES[code] ?? OTHERWISE;
}
