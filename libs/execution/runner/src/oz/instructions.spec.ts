import { describe, expect, it } from 'vitest';
import { parsePrompt } from './instructions.js';

const one = (text: string) => parsePrompt(text).instructions;

describe('the instruction language', () => {
  it.each([
    ['```sh\necho hi\n```', { type: 'command', script: 'echo hi' }],
    ['~~~bash\na\n\nb\n~~~', { type: 'command', script: 'a\n\nb' }],
    ['````shell\n```\n````', { type: 'command', script: '```' }],
    ['  ```sh\n  a\n    b\n  ```', { type: 'command', script: 'a\n  b' }],
    ['```write path=a b.txt\nx\n```', { type: 'write', path: 'a b.txt', text: 'x\n' }],
    ['```write path="a b.txt"\n```', { type: 'write', path: 'a b.txt', text: '' }],
    ['```append path=a.txt\r\nx\r\n```', { type: 'append', path: 'a.txt', text: 'x\n' }],
    ['```delete path=a\n```', { type: 'delete', path: 'a' }],
    ['```read path=a\n```', { type: 'read', path: 'a' }],
    ['```search pattern=two words path=src\n```', { type: 'search', pattern: 'two words', path: 'src' }],
    ['```search pattern=a=b\n```', { type: 'search', pattern: 'a=b', path: '.' }],
    ['```plan\n- a\n2. b\n\nc\n```', { type: 'plan', entries: ['a', 'b', 'c'] }],
    [
      '```artifact type=FILE path=a b.txt title=The title description=x y\n```',
      {
        type: 'artifact',
        artifact: { artifact_type: 'FILE', path: 'a b.txt', title: 'The title', description: 'x y' },
      },
    ],
    [
      '```artifact type=SCREENSHOT path=a.png\n```',
      { type: 'artifact', artifact: { artifact_type: 'SCREENSHOT', path: 'a.png' } },
    ],
    [
      '````artifact type=PLAN title=Two steps\n# Plan\n```sh\nx\n```\n````',
      {
        type: 'artifact',
        artifact: { artifact_type: 'PLAN', text: '# Plan\n```sh\nx\n```\n', title: 'Two steps' },
      },
    ],
    [
      '```artifact type=PLAN path=docs/plan.md\n```',
      { type: 'artifact', artifact: { artifact_type: 'PLAN', path: 'docs/plan.md' } },
    ],
    [
      '```artifact type=PULL_REQUEST url=https://forge.example/pr/1?a=b&c=d branch=fix\n```',
      {
        type: 'artifact',
        artifact: { artifact_type: 'PULL_REQUEST', url: 'https://forge.example/pr/1?a=b&c=d', branch: 'fix' },
      },
    ],
    [
      '```artifact type=EXTERNAL_REFERENCE url=https://t.example/1 reference_type=ticket title=T\n{"a": 1}\n```',
      {
        type: 'artifact',
        artifact: {
          artifact_type: 'EXTERNAL_REFERENCE',
          url: 'https://t.example/1',
          reference_type: 'ticket',
          title: 'T',
          metadata: { a: 1 },
        },
      },
    ],
    ['```think\nhm\n```', { type: 'think', text: 'hm' }],
    ['```ask title=Really, now?\n```', { type: 'ask', title: 'Really, now?' }],
    ['```fail out of ideas\n```', { type: 'fail', message: 'out of ideas' }],
    ['```refuse\nno\n```', { type: 'refuse', message: 'no' }],
    [
      '```replace path=a\n<<<<<<<\nold\n\n=======\nnew\n>>>>>>>\n```',
      { type: 'replace', path: 'a', oldText: 'old\n\n', newText: 'new\n' },
    ],
    [
      '```replace path=a\n<<<<<<<\nold\n=======\n>>>>>>>\n```',
      { type: 'replace', path: 'a', oldText: 'old\n', newText: '' },
    ],
  ])('%j', (text, expected) => {
    expect(one(text)).toEqual([expected]);
  });

  it('keeps the order and ignores the surrounding text', () => {
    const { instructions, problems, ignored } = parsePrompt(
      'Run `rm -rf x` please.\n```sh\na\n```\nand ``` sh not this ```\n```python\nb\n```\n```\nc\n```\n```sh\nd\n```',
    );
    expect(instructions.map((entry) => 'script' in entry && entry.script)).toEqual(['a', 'd']);
    expect([problems, ignored]).toEqual([[], ['python', '']]);
  });

  it.each([
    ['```write\nx\n```', /has no path/],
    ['```sh\n\n```', /is empty/],
    ['```sh\necho never', /is not closed/],
    ['```replace path=a\nx\n```', /not of the form/],
    ['```replace path=a\n<<<<<<<\n=======\nx\n>>>>>>>\n```', /no old lines/],
    ['```search\n```', /has no pattern/],
    ['```artifact type=NOTE\n```', /one of FILE/],
    ['```artifact type=FILE\n```', /needs `path=FILE`/],
    ['```artifact type=PLAN\n\n```', /needs its text/],
    ['```artifact type=PULL_REQUEST url=https://x\n```', /needs `url=URL branch=NAME`/],
    ['```artifact type=PULL_REQUEST url=https://x branch=b status=won\n```', /needs a `status` out of open, draft/],
    ['```artifact type=EXTERNAL_REFERENCE url=https://x\n```', /reference_type=NAME/],
    ['```artifact type=EXTERNAL_REFERENCE url=https://x reference_type=t\nfree text\n```', /a JSON object/],
    ['```ask\n```', /no title/],
  ])('says what is wrong with %j', (text, problem) => {
    const parsed = parsePrompt(text);
    expect(parsed.instructions).toEqual([]);
    expect(parsed.problems).toEqual([expect.stringMatching(problem)]);
  });
});
