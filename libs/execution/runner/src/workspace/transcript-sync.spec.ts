import { expect, it } from 'vitest';
import { relocateTranscript } from './transcript-sync.js';

it('changes the directory of each line that has one, and no other field', () => {
  const lines = [
    '{"cwd":"/old","text":"in /old: ü"}',
    'not json',
    '[1]',
    'null',
    '{"text":"x","in":{"cwd":"/old"}}',
    '',
  ];
  const moved = Buffer.from(relocateTranscript(Buffer.from(lines.join('\n')), 'cwd', '/new')).toString();
  expect(moved.split('\n')).toEqual(['{"cwd":"/new","text":"in /old: ü"}', ...lines.slice(1)]);
});
