import { expect, it } from 'vitest';
import { vendorMessage } from './model-failure.js';
import { withoutInternals } from './shown-text.js';

it('drops stack frames, diagnostics of the agent and terminal colours', () => {
  const output = [
    '[session/create] sessionId=7d phase=validate-cwd durationMs=14 totalMs=14',
    '[perf] acp agent event loop stall: max=1896ms',
    '\u001b[31mError: no such file\u001b[0m',
    '    at run (file:///opt/agent/dist/index.js:10:3)',
    '    at async /opt/agent/dist/main.js:1:1',
    '    at node:internal/main/eval_string:51:3',
    '  File "/opt/agent/main.py", line 3, in main',
    '[SYSTEM_ERROR] Prompt failed',
  ].join('\n');
  expect(withoutInternals(output)).toBe('Error: no such file\n[SYSTEM_ERROR] Prompt failed');
});

it('keeps the last segment of absolute paths, and complete URLs', () => {
  expect(withoutInternals("Check '/tmp/x/home/.codex/config.toml' or file:///opt/a/b.js")).toBe(
    "Check 'config.toml' or b.js",
  );
  const address = 'url: http://127.0.0.1:9/v1/responses, https://code.example.com/docs/en/billing';
  expect(withoutInternals(address)).toBe(address);
  expect(withoutInternals('and/or 1/2, a relative/path')).toBe('and/or 1/2, a relative/path');
});

it.each([
  ['at ~/.config/agent/auth.json', 'at auth.json'],
  ['cannot open ~/auth.json', 'cannot open auth.json'],
  ['open "/srv/data dir/secret file.txt" failed', 'open "secret file.txt" failed'],
  ['see \'~/my files/a b.md\', then "/opt/x y/z"', 'see \'a b.md\', then "z"'],
  ['cannot write to /root', 'cannot write to ~'],
  ['cannot write to /root: EACCES, /root/x, /rooted', 'cannot write to ~: EACCES, x, /rooted'],
  ['Run /login', 'Run /login'],
  ['https://api.example/root?a=b', 'https://api.example/root?a=b'],
])('shortens paths in %s', (output, shown) => {
  expect(withoutInternals(output)).toBe(shown);
});

it.each([
  ['https://api.example/v1?key=sk-live-123&alt=sse', 'https://api.example/v1?key=***&alt=sse'],
  ['https://api.example/v1?a=1&access_token=x.y/z failed', 'https://api.example/v1?a=1&access_token=*** failed'],
  ['Authorization: Bearer sk-ant-REDACTME/abc= was sent', 'Authorization: Bearer *** was sent'],
  ['authorization: bearer abcdef', 'authorization: bearer ***'],
  ['https://ann:secret@api.example/v1', 'https://***@api.example/v1'],
  ['A bearer token is required', 'A bearer token is required'],
  ['https://api.example/v1?page=1&keys=2', 'https://api.example/v1?page=1&keys=2'],
])('masks credentials in %s', (output, shown) => {
  expect(withoutInternals(output)).toBe(shown);
});

it.each([
  ['{"error":{"code":401,"message":"Incorrect key."}}', 'Incorrect key.'],
  ['got status: 400. {"error":{"message":"{\\"error\\":{\\"message\\":\\"No such model.\\"}}"}}', 'No such model.'],
  ['Internal error: API Error: It broke', 'It broke'],
  ['a text with { a brace', 'a text with { a brace'],
])('takes the message out of %s', (output, message) => {
  expect(vendorMessage(output)).toBe(message);
});
