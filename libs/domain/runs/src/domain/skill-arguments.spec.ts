import { describe, expect, it } from 'vitest';
import { splitArguments, substituteArguments } from './run-skill.js';

const filled = (body: string, given: string): string => {
  const result = substituteArguments(body, given, 100_000);
  if (result.kind === 'too_long') throw new Error('too long');
  return result.text;
};

describe('substituteArguments', () => {
  it.each([
    ['all of them, as they were typed', 'Fix $ARGUMENTS now.', `the  "red"\nbutton`, `Fix the  "red"\nbutton now.`],
    ['one by index, counted from 0', '$ARGUMENTS[0]-$ARGUMENTS[1]', 'a b', 'a-b'],
    ['one by short index', 'Move $0 from $1 to $2.', 'Bar React Vue', 'Move Bar from React to Vue.'],
    ['two digits', '$10 $1', 'a b c d e f g h i j k', 'k b'],
    ['an index that is missing', '$2 $ARGUMENTS[2] $10 $0', 'a b', '$2 $ARGUMENTS[2] $10 a'],
    ['what looks like a placeholder in an argument', '$0 $1', '$1 $ARGUMENTS', '$1 $ARGUMENTS'],
    ['replacement patterns of JavaScript', '[$ARGUMENTS]', "$& $' $` $$", "[$& $' $` $$]"],
    ['dollars of the shell', '$$ $$1 $? $# $@ ${1} $HOME \\$1', 'a b', '$$ $$1 $? $# $@ ${1} $HOME \\$1'],
    ['amounts', 'costs $1.50 or $1,000, not $1.', 'a b', 'costs $1.50 or $1,000, not b.'],
    ['longer names', '$ARGUMENTS_2 $ARGUMENTSX $1st $arguments', 'a b', '$ARGUMENTS_2 $ARGUMENTSX $1st $arguments'],
    ['an index that is no number', '$ARGUMENTS[x] $ARGUMENTS[-1] $ARGUMENTS[]', 'a', 'a[x] a[-1] a[]'],
    ['an endless index', `$${'9'.repeat(400)}`, 'a', `$${'9'.repeat(400)}`],
    ['in code', '```sh\necho "$0" | awk \'{print $7}\'\n```', 'a b', '```sh\necho "a" | awk \'{print $7}\'\n```'],
    ['no placeholder', 'Just do it.', 'a b', 'Just do it.'],
  ])('%s', (_name, body, given, expected) => {
    expect(filled(body, given)).toBe(expected);
  });

  it('stops when it becomes too long', () => {
    const body = '$ARGUMENTS '.repeat(100_000);
    expect(substituteArguments(body, 'x'.repeat(1_000_000), 400_000)).toEqual({ kind: 'too_long' });
    expect(substituteArguments('$0$0', 'ab', 4)).toEqual({ kind: 'text', text: 'abab' });
    expect(substituteArguments('$0$0', 'ab', 3)).toEqual({ kind: 'too_long' });
    expect(substituteArguments('abcd', 'x', 3)).toEqual({ kind: 'too_long' });
  });
});

describe('splitArguments', () => {
  it.each<[string, string[]]>([
    ['  a\tb\n c ', ['a', 'b', 'c']],
    [`'my widget' "your widget"`, ['my widget', 'your widget']],
    [`--title="a b" --name='c d'`, ['--title=a b', '--name=c d']],
    [`"a b"'c d'e`, ['a bc de']],
    [`"" ''`, ['', '']],
    [`"say \\"hi\\" \\n" 'a\\b'`, ['say "hi" \\n', 'a\\b']],
    [`don't say it's "so`, [`don't`, 'say', `it's`, '"so']],
    ['a\\ b C:\\dir \\"x\\" \\', ['a b', 'C:\\dir', '"x"', '\\']],
    ['ä 😀', ['ä', '😀']],
    ['', []],
  ])('%j', (given, words) => {
    expect(splitArguments(given)).toEqual(words);
  });
});
