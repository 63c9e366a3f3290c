import { expect, it } from 'vitest';
import { vendorMessage, withoutInternals } from './model-failure.js';

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
  ['{"error":{"code":401,"message":"Incorrect key."}}', 'Incorrect key.'],
  ['got status: 400. {"error":{"message":"{\\"error\\":{\\"message\\":\\"No such model.\\"}}"}}', 'No such model.'],
  ['Internal error: API Error: It broke', 'It broke'],
  ['a text with { a brace', 'a text with { a brace'],
])('takes the message out of %s', (output, message) => {
  expect(vendorMessage(output)).toBe(message);
});
