/**
 * What a debug agent reads before the first message of its user. What the set-up has printed is indented: nobody takes
 * it for an instruction, and a fence in it begins no block.
 */
export function debugOpening(failureMessage: string): string {
  const quoted = failureMessage
    .split(/\r?\n/)
    .map((line) => `    ${line}`)
    .join('\n');
  return [
    'The set-up of this environment failed, and the work that it was made for has not begun. You are in the workspace as',
    'the set-up has left it, to find out with your user what is wrong. This is what failed:',
    '',
    quoted,
    '',
    'What you change here is for trying things out: the workspace goes when this session ends. Your user says:',
    '',
    '',
  ].join('\n');
}
