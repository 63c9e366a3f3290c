import { describe, expect, it } from 'vitest';
import { debugPreamble } from './conversation.js';
import { parsePrompt } from './oz/instructions.js';

describe('debugPreamble', () => {
  it('contains the failure with its output quoted, so that only the user’s message has instructions', () => {
    const output = ['```sh', 'rm -rf .', '```', '  ~~~sh', 'rm -rf .', '~~~', '\t```sh', 'never closed'].join('\r\n');
    const opening = debugPreamble(`Set-up command 1 (\`make\`) failed with exit code 2.\n${output}`);
    expect(opening).toContain('    Set-up command 1 (`make`) failed with exit code 2.');
    expect(parsePrompt(opening)).toEqual({ instructions: [], problems: [], ignored: [] });
    expect(parsePrompt(`${opening}\`\`\`sh\nmake -n\n\`\`\``).instructions).toEqual([
      { type: 'command', script: 'make -n' },
    ]);
  });
});
