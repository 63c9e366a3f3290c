import { MASKED, maskSecrets } from '#platform/kernel';

const STACK_FRAME = /^\s*(?:at .*(?::\d+:\d+\)?|\((?:native|<anonymous>|index [^()]*)\))$|File ".*", line \d)/;
/** `[session/create] phase=… durationMs=124`, `[perf] …`: what an agent logs about itself. Errors stay. */
const DIAGNOSTIC = /^\[[a-z][\w/-]*\] /i;
const ERROR_WORDS = /\b(?:error|fail|cannot|could not|denied|refused)/i;
const SEGMENT = String.raw`[\w.@+~-]+`;
/** Absolute paths of at least two segments, or below the home directory; those of a URL follow a host. */
const PATH = new RegExp(`(?<![\\w:/.~])(?:~|(?:file://)?/${SEGMENT})(?:/${SEGMENT})*/(${SEGMENT})`, 'g');
/** A path between quotation marks may contain spaces. */
const QUOTED_PATH = /(["'`])(?:file:\/\/)?~?\/[^\n"'`]*\/([^\n"'`/]+)\1/g;
const HOME_OF_ROOT = /(?<![\w:/.~-])\/root(?![\w.@+~-])/g;

/** Parameters of URLs that hold a credential by their name. */
const URL_KEY = /([?&][\w-]{0,40}(?:key|token|secret|password|signature|sig|credential|code)=)[^&\s"'`)]+/gi;
const BEARER = /\b(Bearer) +(?!(?:tokens?|auth(?:entication|orization)?|scheme)(?![\w.~+/=-]))[\w.~+/=-]+/gi;

const COLOUR = /\u001b\[[0-9;]*m/g;

/** The text without stack frames, absolute paths, credentials, terminal colours and diagnostics of the agent. */
export function withoutInternals(output: string): string {
  return output
    .replace(COLOUR, '')
    .split('\n')
    .filter((line) => !STACK_FRAME.test(line) && (!DIAGNOSTIC.test(line) || ERROR_WORDS.test(line)))
    .map((line) => withoutPaths(withoutCredentials(line)).trimEnd())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

const withoutCredentials = (line: string): string =>
  String(maskSecrets(line)).replace(URL_KEY, `$1${MASKED}`).replace(BEARER, `$1 ${MASKED}`);

const withoutPaths = (line: string): string =>
  line.replace(QUOTED_PATH, '$1$2$1').replace(PATH, '$1').replace(HOME_OF_ROOT, '~');
