/**
 * The whole environment of a git process: nothing of ours goes in but the PATH. No configuration of the machine or of a
 * user, no hooks, no prompts, no submodules, no LFS, and no transport but those named.
 */
export function gitEnvironment(options: {
  readonly protocols: readonly string[];
  readonly config: Readonly<Record<string, string>>;
  readonly extra: Readonly<Record<string, string>>;
}): Record<string, string> {
  return {
    ...options.extra,
    PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    HOME: '/nonexistent',
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_SYSTEM: '/dev/null',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ADVICE: '0',
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_PROTOCOL_FROM_USER: '0',
    GIT_ALLOW_PROTOCOL: options.protocols.join(':'),
    ...asConfig({ ...ALWAYS, ...options.config }),
  };
}

const ALWAYS: Readonly<Record<string, string>> = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.askPass': '',
  'credential.helper': '',
  'fetch.recurseSubmodules': 'false',
  'submodule.recurse': 'false',
  // A pack for every fetch: loose objects would be as many files, and their size is harder to bound.
  'fetch.unpackLimit': '1',
  'transfer.unpackLimit': '1',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'protocol.ext.allow': 'never',
};

/** Configuration by the environment: unlike `-c` it takes keys with an equals sign, and it shows in no argv. */
function asConfig(config: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(config);
  return Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(entries.length)],
    ...entries.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ]) as Record<string, string>;
}
