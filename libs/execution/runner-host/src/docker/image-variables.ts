/** What an image sets for its programs, from lines `NAME=value`. PATH reaches them by the runner's own. */
export function imageVariables(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines
      .map((line): [string, string] => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)])
      .filter(([name]) => name !== '' && name !== 'PATH'),
  );
}
